"""Linear mixed models: random intercepts and slopes, by (restricted) likelihood.

D. Bates, M. Maechler, B. Bolker, S. Walker. Fitting linear mixed-effects models using
lme4. Journal of Statistical Software, 67(1), 2015.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from scipy.stats import norm
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kinlearn.exceptions import SingularFitWarning
from kinlearn.linear.mixed._base import MixedBase, Rows, with_levels
from kinlearn.linear.mixed._cross_products import CrossProducts
from kinlearn.linear.mixed._groupings import GroupColumns
from kinlearn.linear.mixed._likelihood import LARGEST, Likelihood, maximise
from kinlearn.linear.mixed._terms import Covariance, split_theta
from kinlearn.linear.mixed.equations import Factor, Posterior, Solution
from kinlearn.utils._sklearn import StrOptions
from kinlearn.utils._typing import ArrayLike, Table, TaskColumn
from kinlearn.utils._values import warn_caller

__all__ = ["MixedLinearRegressor"]

_SINGULAR = 1e-4  # standard deviation of effects, relative to the residual's


class MixedLinearRegressor(RegressorMixin, MixedBase):
    r"""Linear mixed model: tasks have intercepts and slopes from a common distribution.

    For row i of task t,

    .. math::
        y_i = x_i^\top \beta + z_i^\top b_t + \varepsilon_i, \qquad
        b_t \sim N(0, \Sigma), \quad \varepsilon_i \sim N(0, \sigma^2),

    with z the intercept and chosen features; further groupings add terms of the same
    kind. :math:`\Sigma` and :math:`\sigma^2` are estimated by (restricted) maximum
    likelihood; the effects of a task are its expectation given its rows, so that those
    of a task with few rows are drawn towards zero, the effects of the average task.

    Parameters
    ----------
    task : str, int or None, default=None
        Name or position of the task column; None is one task, without effects.
    groups : list of columns or None, default=None
        Further groupings of the rows, nested in the task or crossed with it: names or
        positions of columns; a tuple of columns means their combinations, such as
        ``("batch", "cask")`` where casks have the same names in every batch. These
        columns are no features.
    slopes : "all", list of columns, mapping or None, default=None
        Features whose slopes vary between tasks, or, without a task, between the levels
        of the one grouping. A mapping from groupings (the task column among them;
        ``"batch:cask"`` for combinations) to "all" or a list says it for each grouping.
        Intercepts always vary.
    covariance : str or mapping, default="full"
        Covariance of the effects of a level: "full", any; "diagonal", without
        correlations; "scaled_identity", one variance for all, in units of X;
        "low_rank", of a given `rank`. A mapping says it for each grouping.
    rank : int, default=1
        Rank of low-rank covariances.
    method : {"reml", "ml"}, default="reml"
        Restricted likelihood, which takes into account that coefficients are estimated,
        or the likelihood, which can compare models with different features.
    alpha : float, default=0
        Ridge penalty of the coefficients, in units of X, as of scikit-learn's `Ridge`.
        Without one, columns that others explain get the coefficient zero.
    fit_intercept : bool, default=True
        Whether there is a fixed intercept.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do in prediction about tasks, and levels of groups, that `fit` did not
        see: predict by the population's mean, with a warning or without, or refuse.
    tol : float, default=1e-8
        Relative tolerance of the log likelihood.
    max_iter : int, default=200
        Most iterations of the optimiser.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Fixed effects; zero for columns in `dropped_features_`.
    intercept_ : float
        Fixed intercept.
    sigma_ : float
        Standard deviation of the residual.
    covariances_ : dict
        Covariance matrix of the effects by grouping: intercept first, then slopes.
    log_likelihood_ : float
        Log likelihood, restricted if `method` is "reml".
    aic_, bic_ : float
        Akaike's and the Bayesian information criterion by it.
    n_parameters_ : int
        Coefficients, and parameters of all variances.
    is_singular_ : bool
        Whether an effect has no variance of its own: it is zero, or a combination of
        others.
    dropped_features_ : ndarray of str
        Columns that other columns explain.
    dropped_slopes_ : dict
        By grouping, columns of `slopes` that the intercept and others explain.
    n_iter_ : int
        Evaluations of the likelihood.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    feature_names_ : ndarray of shape (n_features,)
        Names of the columns used as features.
    n_features_in_ : int
        Number of columns of X in fit, the task and groups included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    likelihood_ratio_test : Compares two fits.
    kinlearn.KinRegressor : Weighs models that share more or less, task by task.

    Notes
    -----
    The profiled likelihood is that of lme4 [1]_, and estimates agree with it. It is
    maximised by a quasi-Newton method with exact derivatives, over sums that are
    taken once, so that the number of rows matters for these alone. Nested groupings
    may have any number of levels, and so may the largest of crossed ones; the others
    that meet each other are a dense matrix, of at most 20,000 effects.

    Weights are frequencies: a row of weight 2 is two rows. (In lme4 they are
    precisions, and do not count as rows.)

    A penalty `alpha` is a normal prior of variance :math:`\sigma^2 / \alpha`, and the
    restricted likelihood integrates over it. The likelihood (``method="ml"``) is that
    of the estimates, without the penalty that they were found with.

    Intervals take variances of effects and residual as known, as is usual; with fewer
    than about twenty tasks they are too narrow.

    References
    ----------
    .. [1] D. Bates, M. Maechler, B. Bolker, S. Walker. Fitting linear mixed-effects
       models using lme4. Journal of Statistical Software, 67(1), 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.linear import MixedLinearRegressor
    >>> rng = np.random.default_rng(0)
    >>> task = np.arange(200) % 20
    >>> x = rng.normal(size=200)
    >>> intercept, slope = 3 * rng.normal(size=20), 2 + rng.normal(size=20)
    >>> y = intercept[task] + slope[task] * x + rng.normal(size=200)
    >>> X = np.column_stack([x, task])
    >>> model = MixedLinearRegressor(task=-1, slopes=[0]).fit(X, y)
    >>> model.coef_.round(1)
    array([1.4])
    >>> model.predict_interval([[1.0, 7]], level=0.9).round(1)
    array([[-3.9, -0.4]])
    """

    _parameter_constraints: dict = {
        **MixedBase._parameter_constraints,
        "method": [StrOptions({"reml", "ml"})],
    }

    def __init__(
        self,
        *,
        task: TaskColumn = None,
        groups: Sequence[GroupColumns] | None = None,
        slopes: Literal["all"] | Sequence[str | int] | Mapping | None = None,
        covariance: Covariance | Mapping = "full",
        rank: int = 1,
        method: Literal["reml", "ml"] = "reml",
        alpha: float = 0.0,
        fit_intercept: bool = True,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        tol: float = 1e-8,
        max_iter: int = 200,
    ) -> None:
        self.task = task
        self.groups = groups
        self.slopes = slopes
        self.covariance = covariance
        self.rank = rank
        self.method = method
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.unknown_task = unknown_task
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Estimate coefficients, variances and the effects of all tasks.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The fitted model.
        """
        self._validate_params()
        data, rows = self._fit_rows(X, y, sample_weight, "numbers")
        sums = CrossProducts.of_rows(
            rows.X,
            data.y,
            data.sample_weight,
            self._terms,
            rows.codes,
            intercept=self.fit_intercept,
        )
        self._maximise(sums, None)
        return self

    def _maximise(
        self,
        sums: CrossProducts,
        start: list[np.ndarray] | None,
        later: Any = None,
        groupings: Any = None,
    ) -> None:
        """Estimate variances, then all effects, and keep them if nothing failed.

        `start` are covariances to start from, relative to the residual's variance.
        """
        kept = sums.independent_effects()
        cross = sums.with_effects(kept)
        likelihood = self._likelihood_of(cross)
        if not likelihood.dof > 0:
            raise ValueError(
                f"{type(self).__name__} with method={self.method!r} needs more rows "
                f"than coefficients; found {cross.n:g} sample(s) and "
                f"{len(likelihood.fixed)} coefficients. Add rows, leave out columns, "
                "or set alpha."
            )
        found = maximise(
            likelihood,
            start=None if start is None else self._first_theta(likelihood, start),
            tol=self.tol,
            max_iter=self.max_iter,
        )
        if not found.converged:
            warn_caller(
                f"{type(self).__name__} stopped after {found.n_iter} evaluations of "
                "the likelihood without convergence. Scale the features, choose a "
                "simpler covariance, or raise max_iter.",
                ConvergenceWarning,
            )
        factor = likelihood.factor(found.theta)
        solution = factor.solve()
        if later is not None:
            self._remember_later(later)
            self._remember_groupings(groupings)
        self._theta, self.n_iter_ = found.theta, found.n_iter
        self._keep_slopes(kept)
        self._row_sums = cross.target_sums
        n_free = sum(
            term.n_theta
            for term, free in zip(cross.terms, likelihood.is_free, strict=True)
            if free
        )
        self.n_parameters_ = len(likelihood.fixed) + n_free + 1
        variance = likelihood.residual(factor) / likelihood.dof
        self.sigma_ = float(np.sqrt(variance))
        deviance = found.deviance
        if self.method == "ml":
            penalty = float(likelihood.penalty @ solution.beta**2)
            deviance -= penalty / variance
        self.log_likelihood_ = -0.5 * deviance
        self.aic_ = 2.0 * self.n_parameters_ + deviance
        self.bic_ = float(np.log(cross.n) * self.n_parameters_ + deviance)
        self._keep(sums, cross, factor, solution)
        self._look_for_singularity(likelihood)

    def _likelihood_of(self, cross: CrossProducts) -> Likelihood:
        return Likelihood(cross, float(self.alpha), self.method == "reml")

    @staticmethod
    def _first_theta(
        likelihood: Likelihood, covariances: list[np.ndarray]
    ) -> np.ndarray | None:
        """Theta of covariances of an earlier fit, if effects are the same still."""
        basis = likelihood.cross.basis
        parts = [np.zeros(0)]
        for k, (term, S) in enumerate(zip(basis.terms, covariances, strict=True)):
            if len(S) != term.n_effects:
                return None
            back = np.linalg.inv(basis.term_map(k))
            parts.append(term.theta_from_covariance(back @ S @ back.T))
        theta = np.concatenate(parts)
        return np.where(theta == 0.0, 0.1 * likelihood.units, theta)

    def _keep(
        self,
        sums: CrossProducts,
        cross: CrossProducts,
        factor: Factor,
        solution: Solution,
    ) -> None:
        """Keep the effects of given variances."""
        self._sums, self._cross, self._terms = sums, cross, list(cross.terms)
        coef = np.zeros(cross.n_features + 1)
        coef[factor.fixed] = solution.beta
        self.intercept_, self.coef_ = cross.basis.to_raw(coef)
        self._effects = [
            solution.u[k] @ (cross.basis.term_map(k) @ T).T
            for k, T in enumerate(factor.T)
        ]
        kept = np.isin(np.arange(1, cross.n_features + 1), factor.fixed)
        self.dropped_features_ = self.feature_names_[~kept]

    def _look_for_singularity(self, likelihood: Likelihood) -> None:
        """Say where the maximum lies at a bound: something has no variance."""
        odd = []
        for term, T, free in zip(
            self._terms,
            split_theta(self._terms, self._theta / likelihood.units),
            likelihood.is_free,
            strict=True,
        ):
            # the effects of one level are the fixed ones, as without a grouping
            if not free and term.n_levels == 1:
                continue
            if np.linalg.svd(T, compute_uv=False)[-1] < _SINGULAR:
                odd.append(term.name)
        hint = ""
        n, n_rows = likelihood.cross.n, likelihood.cross.n_rows
        if n < 0.5 * n_rows:
            hint = f" Weights sum to {n:g} for {n_rows} rows; a mean of 1 counts all."
        self._warn_of_singular(odd, hint)
        largest = 0.99 * LARGEST * likelihood.units
        exact = bool((np.abs(self._theta) >= largest).any())
        if exact:
            name = type(self).__name__
            warn_caller(
                f"The fit of {name} is singular: its effects explain every row, so "
                "that the residual has no variance, or one too small to be told from "
                f"none (effects are {LARGEST:,.0f} times as large, or more). Leave out "
                "slopes or groupings, add rows, or subtract from y what is known to "
                "differ that much.",
                SingularFitWarning,
            )
        self.is_singular_ = bool(odd) or exact

    def partial_fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows, of known or new tasks: the same as a fit to all rows so far.

        The sums that the likelihood needs are kept, so that no row of the past is
        needed, and variances are estimated anew.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The model of all rows.
        """
        if not hasattr(self, "_cross"):
            return self.fit(X, y, sample_weight)
        start = [S / self.sigma_**2 for S in self._term_covariances()]
        later, sums, groupings = self._with_later(X, y, sample_weight, False)
        self._maximise(sums, start, later, groupings)
        return self

    def add_task(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add tasks that come after fit, by the variances that it has learned.

        Effects of new tasks are their expectations given their rows. Coefficients and
        the effects of others are solved anew with these rows among the old ones,
        exactly, and change little; variances stay, as do the likelihood and criteria.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows of new tasks only, with the columns of fit.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The model with these tasks.
        """
        later, sums, groupings = self._with_later(X, y, sample_weight, True)
        cross = sums.with_effects(self._kept_effects)
        factor = self._likelihood_of(cross).factor(self._theta)
        solution = factor.solve()
        self._remember_later(later)
        self._remember_groupings(groupings)
        self._keep(sums, cross, factor, solution)
        return self

    def _with_later(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None, only_new: bool
    ) -> tuple[Any, CrossProducts, Any]:
        """Sums of the old and of later rows; in units of all, unless tasks are new."""
        later, rows, places, groupings = self._later_rows(X, y, sample_weight, only_new)
        old, weight = self._sums, later.sample_weight
        terms = with_levels(old.terms, groupings)
        basis = replace(old.basis, terms=terms)
        new = CrossProducts.of_rows(
            rows.X, later.y, weight, terms, rows.codes,
            intercept=self.fit_intercept, basis=basis if only_new else None,
        )  # fmt: skip
        sums = old.added(new, places) if only_new else old.merged(new, places)
        return later, sums, groupings

    def _factored(self) -> Factor:
        """The equations at the estimates, factored."""
        return self._likelihood_of(self._cross).factor(self._theta)

    def predict(self, X: Table, return_std: bool = False) -> Any:
        """Expected targets: fixed effects, and those of the rows' tasks and groups.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        return_std : bool, default=False
            Whether to return the standard deviation of a new target too: of the
            estimates, of effects of unknown tasks, and of the residual.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Predictions.
        std : ndarray of shape (n_samples,)
            Standard deviations, if `return_std`.
        """
        check_is_fitted(self)
        rows = self._new_rows(X)
        mean = self._linear_predictor(rows)
        return (mean, self._std(rows)) if return_std else mean

    def _std(self, rows: Rows) -> np.ndarray:
        variance = Posterior(self._factored()).variance(rows.X, rows.codes)
        return self.sigma_ * np.sqrt(1.0 + variance)

    def predict_interval(self, X: Table, level: float = 0.95) -> np.ndarray:
        """Intervals that hold a new target with some probability.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        level : float, default=0.95
            The probability. For a known task it is that over tasks and rows; for an
            unknown one the interval is wider, as its effects are not known.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends.
        """
        self._check_level(level)
        mean, std = self.predict(X, return_std=True)
        half = norm.ppf(0.5 + level / 2.0) * std
        return np.column_stack([mean - half, mean + half])

    def _levels_with_rows(self, k: int) -> np.ndarray:
        return self._cross.ZZ[k][:, 0, 0] > 0.0

    def _term_covariances(self) -> list[np.ndarray]:
        found = []
        for k, T in enumerate(split_theta(self._terms, self._theta)):
            raw = self.sigma_ * (self._cross.basis.term_map(k) @ T)
            found.append(raw @ raw.T)
        return found

    @property
    def fixed_effects_(self) -> Any:
        """Intercept and coefficients with standard errors and 95 % intervals.

        A pandas frame; columns that were dropped are not in it.
        """
        check_is_fitted(self)
        factor = self._factored()
        fixed, C = factor.fixed, factor.fixed_inverse()
        J = self._cross.basis.fixed_map[np.ix_(fixed, fixed)]
        error = self.sigma_ * np.sqrt(np.diag(J @ C @ J.T))
        estimate = np.append(self.intercept_, self.coef_)[fixed]
        names = np.append("intercept", self.feature_names_.astype(str))[fixed]
        return self._table_of(names, estimate, error, "fixed_effects_")

    @property
    def random_effects_(self) -> dict[str, Any]:
        """Effects of all levels with standard errors and 95 % intervals, by grouping.

        A dict of pandas frames, with a row for each level and effect. Standard errors
        are of effect less estimate, those of the coefficients included.
        """
        check_is_fitted(self)
        inverse, out = self._factored().inverse(), {}
        for k, T in enumerate(split_theta(self._terms, self._theta)):
            root = self.sigma_ * (self._cross.basis.term_map(k) @ T)
            grouping = self._groupings[k]
            out[grouping.name] = self._effects_table(
                grouping, self._terms[k], self._effects[k], inverse.own[k], root
            )
        return out

    @property
    def variance_components_(self) -> Any:
        """Variances and standard deviations of all effects, as a pandas frame.

        A row for each effect of each grouping, and one for the residual. Covariances
        are in `covariances_`.
        """
        check_is_fitted(self)
        variances = [np.diag(S) for S in self._term_covariances()]
        return self._variances_table(self._terms, variances, self.sigma_**2)

    @property
    def icc_(self) -> dict[str, float]:
        """Intraclass correlation: fraction of the variance between levels, as a dict.

        Of all variance that features do not explain. With slopes, it is that of the
        average row.
        """
        check_is_fitted(self)
        parts = {}
        for k, T in enumerate(split_theta(self._terms, self._theta)):
            mean = self._cross.ZZ[k].sum(axis=0) / self._cross.n
            parts[self._terms[k].name] = float(np.trace(T.T @ mean @ T))
        total = 1.0 + sum(parts.values())
        return {name: part / total for name, part in parts.items()}
