"""Poisson mixed models: random intercepts and slopes, by Laplace's approximation.

D. Bates, M. Maechler, B. Bolker, S. Walker. Fitting linear mixed-effects models using
lme4. Journal of Statistical Software, 67(1), 2015.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from kinlearn.linear.mixed._base import Rows
from kinlearn.linear.mixed._generalised import POISSON, Targets
from kinlearn.linear.mixed._generalised_base import GeneralisedBase
from kinlearn.linear.mixed._groupings import GroupColumns
from kinlearn.linear.mixed._integrals import count_quantiles
from kinlearn.linear.mixed._terms import Covariance
from kinlearn.tables.internal import find_column, open_table
from kinlearn.utils._typing import ArrayLike, Table, TaskColumn

__all__ = ["MixedPoissonRegressor"]

_MOST_LOG = 700.0  # more overflows


class MixedPoissonRegressor(RegressorMixin, GeneralisedBase):
    r"""Poisson mixed model: tasks have intercepts and slopes from a common law.

    The counts of row i of task t, and of the levels of further groupings, are Poisson
    distributed with

    .. math::
        \log E(y_i) = o_i + x_i^\top \beta + z_i^\top b_t + \ldots, \qquad
        b_t \sim N(0, \Sigma),

    with z the intercept and chosen features, and an offset o. :math:`\Sigma` and
    :math:`\beta` maximise Laplace's approximation of the likelihood; the effects of a
    task are the most likely ones given its rows, so that those of a task with few
    counts are drawn towards zero, the effects of the average task.

    Parameters
    ----------
    task : str, int or None, default=None
        Name or position of the task column; None is one task, without effects.
    groups : list of columns or None, default=None
        Further groupings of the rows, nested in the task or crossed with it: names or
        positions of columns; a tuple of columns means their combinations. These columns
        are no features. A column with a level for every row lets counts vary more than
        Poisson's law does.
    slopes : "all", list of columns, mapping or None, default=None
        Features whose slopes vary between tasks, or, without a task, between the levels
        of the one grouping. A mapping from groupings (the task column among them) to
        "all" or a list says it for each grouping. Intercepts always vary.
    offset : str, int or None, default=None
        Name or position of a column that is added to the linear predictor as it is:
        the logarithm of the time, area or number of people that a count is of. It is
        no feature.
    covariance : str or mapping, default="full"
        Covariance of the effects of a level: "full", any; "diagonal", without
        correlations; "scaled_identity", one variance for all, in units of X;
        "low_rank", of a given `rank`. A mapping says it for each grouping.
    rank : int, default=1
        Rank of low-rank covariances.
    alpha : float, default=0
        Ridge penalty: ``alpha / 2`` times the sum of squares of the coefficients, in
        units of X, is subtracted from the log likelihood. Without one, columns that
        others explain get the coefficient zero.
    fit_intercept : bool, default=True
        Whether there is a fixed intercept.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do in prediction about tasks, and levels of groups, that `fit` did not
        see: average over their effects, with a warning or without, or refuse.
    tol : float, default=1e-8
        Tolerance of the log likelihood.
    max_iter : int, default=500
        Most steps of the optimiser.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Fixed effects; zero for columns in `dropped_features_`.
    intercept_ : float
        Fixed intercept.
    log_likelihood_ : float
        Log likelihood by Laplace's approximation.
    aic_, bic_ : float
        Akaike's and the Bayesian information criterion by it.
    n_parameters_ : int
        Coefficients, and parameters of all covariances.
    is_singular_ : bool
        Whether an effect has no variance of its own: it is zero, or a combination of
        others.
    dropped_features_ : ndarray of str
        Columns that other columns explain.
    dropped_slopes_ : dict
        By grouping, columns of `slopes` that the intercept and others explain.
    n_iter_ : int
        Steps of the optimiser.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    feature_names_ : ndarray of shape (n_features,)
        Names of the columns used as features.
    n_features_in_ : int
        Number of columns of X in fit; the task, groups and offset included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    MixedLinearRegressor : The same for numbers.
    MixedLogisticClassifier : The same for classes.
    kinlearn.boosting.MultiTaskGradientBoostingRegressor : Counts by boosting.

    Notes
    -----
    Estimates are those of lme4's ``glmer`` with ``nAGQ=1`` [1]_, of the same
    approximation. It is maximised with exact derivatives instead of without.

    The effects of known tasks enter at their modes, as in lme4. For an unknown task,
    the expected count is averaged over the effects that it may have: with variance v of
    their sum, it is :math:`\exp(v / 2)` times that of an average task (lme4's
    ``re.form = NA``).

    References
    ----------
    .. [1] D. Bates, M. Maechler, B. Bolker, S. Walker. Fitting linear mixed-effects
       models using lme4. Journal of Statistical Software, 67(1), 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.linear import MixedPoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> task = np.arange(400) % 20
    >>> x = rng.normal(size=400)
    >>> effect = rng.normal(scale=0.5, size=20)
    >>> y = rng.poisson(np.exp(1 + 0.3 * x + effect[task]))
    >>> X = np.column_stack([x, task])
    >>> model = MixedPoissonRegressor(task=-1).fit(X, y)
    >>> model.coef_.round(1)
    array([0.3])
    >>> model.predict_interval([[0.0, 7]], level=0.9)
    array([[2., 9.]])
    """

    _parameter_constraints: dict = {
        **GeneralisedBase._parameter_constraints,
        "offset": [str, Integral, None],
    }

    def __init__(
        self,
        *,
        task: TaskColumn = None,
        groups: Sequence[GroupColumns] | None = None,
        slopes: Literal["all"] | Sequence[str | int] | Mapping | None = None,
        offset: str | int | None = None,
        covariance: Covariance | Mapping = "full",
        rank: int = 1,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        tol: float = 1e-8,
        max_iter: int = 500,
    ) -> None:
        self.task = task
        self.groups = groups
        self.slopes = slopes
        self.offset = offset
        self.covariance = covariance
        self.rank = rank
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.unknown_task = unknown_task
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Estimate coefficients, covariances and the effects of all tasks.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Counts, or other numbers of at least 0.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The fitted model.
        """
        self._validate_params()
        data, rows = self._fit_rows(X, y, sample_weight, "numbers")
        weight = np.ones(data.n_samples)
        if data.sample_weight is not None:
            weight = data.sample_weight
        self._check_counts(data.y, data.task, data.tasks)
        if not weight @ data.y > 0.0:
            raise ValueError(
                f"All {data.n_samples} counts are 0 or have no weight; the logarithm "
                "of their mean is not finite. There must be a count above 0."
            )
        if self.offset is not None:
            self._offset_column = find_column(self.offset, open_table(X), "Offset")
        targets = Targets(POISSON, data.y, weight, self._offsets(X))
        self._fit_each(rows.X, rows.codes, [targets])
        self._keep_coefficients()
        mean = np.exp(np.minimum(self._links(rows)[:, 0] + targets.offset, _MOST_LOG))
        self._mean_count = float(np.average(mean, weights=weight))
        return self

    def _fit_data(self, *args: Any, groups: Sequence[Any] = (), **options: Any) -> Any:
        # an offset is no feature, as columns of groups are none
        if self.offset is not None:
            self._check_offset(args[0], self.offset, groups)
            groups = [*groups, self.offset]
        return super()._fit_data(*args, groups=groups, **options)

    def _check_offset(self, X: Table, offset: str | int, groups: Sequence[Any]) -> None:
        """Refuse an offset that is the task or a group."""
        table = open_table(X)
        column = find_column(offset, table, "Offset")
        uses = [("the task", self.task)] if self.task is not None else []
        uses += [("a column of groups", key) for key in groups]
        for use, key in uses:
            if find_column(key, table, "Group") == column:
                raise ValueError(
                    f"offset={offset!r} is {use}, too. Name a column of "
                    "logarithms of exposures, or leave out offset."
                )

    def _check_counts(self, y: np.ndarray, task: np.ndarray, tasks: np.ndarray) -> None:
        low = np.flatnonzero(y < 0.0)
        if len(low):
            i = int(low[0])
            raise ValueError(
                f"{type(self).__name__} is for counts, numbers of at least 0; y is "
                f"{y[i]:g} in row {i} (task {tasks.tolist()[task[i]]!r}), and below 0 "
                f"in {len(low)} rows. Some value(s) of y are out of the valid range; "
                "use MixedLinearRegressor for numbers of any sign."
            )

    def _offsets(self, X: Table) -> np.ndarray:
        """The column that is added to the linear predictor; zeros if there is none."""
        table = open_table(X)
        if self.offset is None:
            return np.zeros(table.n_rows)
        values = table.matrix(
            [self._offset_column], order="C", accept_sparse=["csr", "csc"]
        )
        values = values.toarray() if hasattr(values, "toarray") else values
        values = np.asarray(values, dtype=np.float64)[:, 0].copy()
        odd = np.flatnonzero(~np.isfinite(values))
        if len(odd):
            raise ValueError(
                f"The offset {self.offset!r} must be a finite number in all rows; "
                f"found {values[odd[0]]} in row {odd[0]}, and {len(odd)} such rows in "
                "all. It is a logarithm: look for numbers of 0."
            )
        return values

    def _later_targets(self, X: Table, later: Any) -> list[Targets]:
        self._check_counts(later.y, later.task, later.tasks)
        return [Targets(POISSON, later.y, later.sample_weight, self._offsets(X))]

    def _keep_coefficients(self) -> None:
        fit = self._fits[0]
        self.coef_, self.intercept_ = fit.coef, fit.intercept

    def partial_fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows, of known or new tasks, by the covariances that fit has learned.

        Rows of the past count by the quadratic approximation of their likelihood at its
        maximum: near to a fit to all rows, as long as it has not moved far.
        Covariances stay, as do the likelihood and criteria; `fit` estimates them anew.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Counts.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The model with these rows.
        """
        if not hasattr(self, "_fits"):
            return self.fit(X, y, sample_weight)
        return self._take_later(X, y, sample_weight, False)

    # ------------------------------------------------------------- prediction

    def _rows_and_link(self, X: Table) -> tuple[Rows, np.ndarray]:
        check_is_fitted(self)
        rows = self._new_rows(X)
        return rows, self._links(rows)[:, 0] + self._offsets(X)

    def linear_predictor(self, X: Table) -> np.ndarray:
        """Log rates by fixed effects and the modes of the tasks' and groups' own.

        The offset is part of them; unknown levels have no effects.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Logarithms of expected counts.
        """
        return self._rows_and_link(X)[1]

    def predict(self, X: Table, return_std: bool = False) -> Any:
        """Expected counts.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        return_std : bool, default=False
            Whether to return the standard deviation of a new count too: of the
            estimates, of effects of unknown tasks, and of Poisson's law.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Predictions.
        std : ndarray of shape (n_samples,)
            Standard deviations, if `return_std`.
        """
        rows, link = self._rows_and_link(X)
        unknown = self._unknown_variances(rows)[:, 0]
        mean = np.exp(np.minimum(link + unknown / 2.0, _MOST_LOG))
        if not return_std:
            return mean
        variance = np.minimum(self._variances(rows)[:, 0], _MOST_LOG)
        with np.errstate(over="ignore"):
            std = np.sqrt(mean + mean**2 * np.expm1(variance))
        return mean, np.minimum(std, np.finfo(np.float64).max)

    def predict_interval(self, X: Table, level: float = 0.95) -> np.ndarray:
        """Intervals that hold a new count with some probability, at least.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        level : float, default=0.95
            The probability. For an unknown task the interval is wider, as its effects
            are not known.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            The least and the largest count.
        """
        self._check_level(level)
        rows, link = self._rows_and_link(X)
        variance = self._variances(rows)[:, 0]
        tail = (1.0 - level) / 2.0
        ends = [count_quantiles(link, variance, q) for q in (tail, 1.0 - tail)]
        return np.column_stack(ends)

    def _row_variance(self) -> float:
        return float(np.log1p(1.0 / self._mean_count))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
