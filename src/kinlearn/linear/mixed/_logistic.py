"""Logistic mixed models: random intercepts and slopes, by Laplace's approximation.

D. Bates, M. Maechler, B. Bolker, S. Walker. Fitting linear mixed-effects models using
lme4. Journal of Statistical Software, 67(1), 2015.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.base import ClassifierMixin

from kinlearn.linear.mixed._base import Rows
from kinlearn.linear.mixed._generalised import LOGISTIC, Targets
from kinlearn.linear.mixed._generalised_base import GeneralisedBase
from kinlearn.linear.mixed._groupings import GroupColumns
from kinlearn.linear.mixed._integrals import mean_probability
from kinlearn.linear.mixed._terms import Covariance
from kinlearn.utils._typing import ArrayLike, LabelRule, Table, TaskColumn

__all__ = ["MixedLogisticClassifier"]

_TINY = np.finfo(np.float64).tiny


class MixedLogisticClassifier(ClassifierMixin, GeneralisedBase):
    r"""Logistic mixed model: tasks have intercepts and slopes from a common law.

    For row i of task t, and of the levels of further groupings,

    .. math::
        \log \frac{P(y_i = 1)}{P(y_i = 0)} = x_i^\top \beta + z_i^\top b_t + \ldots,
        \qquad b_t \sim N(0, \Sigma),

    with z the intercept and chosen features. :math:`\Sigma` and :math:`\beta` maximise
    Laplace's approximation of the likelihood; the effects of a task are the most likely
    ones given its rows, so that those of a task with few rows, or with one class, are
    drawn towards zero, the effects of the average task.

    Parameters
    ----------
    task : str, int or None, default=None
        Name or position of the task column; None is one task, without effects.
    groups : list of columns or None, default=None
        Further groupings of the rows, nested in the task or crossed with it: names or
        positions of columns; a tuple of columns means their combinations. These columns
        are no features.
    slopes : "all", list of columns, mapping or None, default=None
        Features whose slopes vary between tasks, or, without a task, between the levels
        of the one grouping. A mapping from groupings (the task column among them) to
        "all" or a list says it for each grouping. Intercepts always vary.
    covariance : str or mapping, default="full"
        Covariance of the effects of a level: "full", any; "diagonal", without
        correlations; "scaled_identity", one variance for all, in units of X;
        "low_rank", of a given `rank`. A mapping says it for each grouping.
    rank : int, default=1
        Rank of low-rank covariances.
    alpha : float, default=0
        Ridge penalty: ``alpha / 2`` times the sum of squares of the coefficients, in
        units of X, is subtracted from the log likelihood. It keeps coefficients finite
        where a column separates the classes. Without one, columns that others explain
        get the coefficient zero.
    fit_intercept : bool, default=True
        Whether there is a fixed intercept.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do in prediction about tasks, and levels of groups, that `fit` did not
        see: average over their effects, with a warning or without, or refuse.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task can have: "connected" takes tasks that have a class in
        common to have all classes of each other, "observed" those in the task's rows; a
        mapping from task to labels says it.
    tol : float, default=1e-8
        Tolerance of the log likelihood.
    max_iter : int, default=500
        Most steps of the optimiser.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Fixed effects; zero for columns in `dropped_features_`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Fixed intercepts.
    log_likelihood_ : float
        Log likelihood by Laplace's approximation; with more than two classes, the sum
        over the models of the classes.
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
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels.
    task_classes_ : dict
        Labels of each task.
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
    MixedLinearRegressor : The same for numbers.
    MixedPoissonRegressor : The same for counts.
    kinlearn.KinClassifier : Weighs models that share more or less, task by task.

    Notes
    -----
    With two classes, estimates are those of lme4's ``glmer`` with ``nAGQ=1`` [1]_, of
    the same approximation. It is maximised with exact derivatives instead of without.
    Laplace's approximation is coarse where tasks have a few rows each: variances are
    then estimated too low.

    With more than two classes, there is a model for each class against all others, of
    the rows whose task can have it, and their probabilities are divided by their sum.
    This is no multinomial likelihood: `log_likelihood_` is a sum over models that are
    not independent, good for comparing fits, not for tests.

    The effects of known tasks enter at their modes, as in lme4. For an unknown task,
    the probability is averaged over the effects that it may have, and lies nearer to
    one half than that of an average task (lme4's ``re.form = NA``).

    References
    ----------
    .. [1] D. Bates, M. Maechler, B. Bolker, S. Walker. Fitting linear mixed-effects
       models using lme4. Journal of Statistical Software, 67(1), 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.linear import MixedLogisticClassifier
    >>> rng = np.random.default_rng(0)
    >>> task = np.arange(600) % 20
    >>> x = rng.normal(size=600)
    >>> effect = rng.normal(size=20)
    >>> y = x + effect[task] + rng.logistic(size=600) > 0
    >>> X = np.column_stack([x, task])
    >>> model = MixedLogisticClassifier(task=-1).fit(X, y)
    >>> model.coef_.round(1)
    array([[1.1]])
    >>> model.predict_proba([[1.0, 7]]).round(1)
    array([[0.1, 0.9]])
    """

    _parameter_constraints: dict = {
        **GeneralisedBase._parameter_constraints,
        **GeneralisedBase._label_parameter_constraints,
    }

    def __init__(
        self,
        *,
        task: TaskColumn = None,
        groups: Sequence[GroupColumns] | None = None,
        slopes: Literal["all"] | Sequence[str | int] | Mapping | None = None,
        covariance: Covariance | Mapping = "full",
        rank: int = 1,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        tol: float = 1e-8,
        max_iter: int = 500,
    ) -> None:
        self.task = task
        self.groups = groups
        self.slopes = slopes
        self.covariance = covariance
        self.rank = rank
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.unknown_task = unknown_task
        self.label_sets = label_sets
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
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The fitted model.
        """
        self._validate_params()
        data, rows = self._fit_rows(X, y, sample_weight, "classes")
        weight = np.ones(data.n_samples)
        if data.sample_weight is not None:
            weight = data.sample_weight
        targets = self._targets(data.y, self._label_sets.allowed(data.task), weight)
        self._fit_each(rows.X, rows.codes, targets)
        self._keep_coefficients()
        return self

    def _targets(
        self, y: np.ndarray, allowed: np.ndarray, weight: np.ndarray
    ) -> list[Targets]:
        """The second class against the first, or each class against all others."""
        offset, n_classes = np.zeros(len(y)), len(self.classes_)
        if n_classes == 2:
            return [Targets(LOGISTIC, (y == 1).astype(np.float64), weight, offset)]
        if n_classes == 1:
            return []
        return [
            Targets(
                LOGISTIC,
                (y == k).astype(np.float64),
                np.where(allowed[:, k], weight, 0.0),
                offset,
            )
            for k in range(n_classes)
        ]

    def _later_targets(self, X: Table, later: Any) -> list[Targets]:
        # a class that rows of a task have is one of its classes
        sets = later.find_label_sets(self._label_sets, self.label_sets)
        return self._targets(later.y, sets.allowed(later.task), later.sample_weight)

    def _keep_coefficients(self) -> None:
        p = len(self.feature_names_)
        coef = [fit.coef for fit in self._fits]
        self.coef_ = np.reshape(coef, (len(coef), p)).astype(np.float64)
        self.intercept_ = np.array([fit.intercept for fit in self._fits])

    def _fit_names(self) -> list[Any]:
        return self.classes_.tolist()

    def partial_fit(
        self,
        X: Table,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
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
            Labels; after the first call, no class that it did not see.
        classes : array-like of shape (n_classes,), default=None
            Classes that the first call must see.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The model with these rows.
        """
        if not hasattr(self, "_fits"):
            self._check_first_classes(y, classes)
            return self.fit(X, y, sample_weight)
        return self._take_later(X, y, sample_weight, False)

    # ------------------------------------------------------------- prediction

    def linear_predictor(self, X: Table) -> np.ndarray:
        """Log odds by fixed effects and the modes of the tasks' and groups' own.

        Unknown levels have no effects.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, log odds of the second; otherwise, of each class against
            all others.
        """
        rows = self._new_rows(X)
        if not self._fits:
            return np.zeros(rows.X.shape[0])
        links = self._links(rows)
        return links[:, 0] if len(self._fits) == 1 else links

    def _scores(self, rows: Rows) -> np.ndarray:
        """Log odds of each linear predictor, averaged over unknown levels."""
        links, variance = self._links(rows), self._unknown_variances(rows)
        mean = np.clip(mean_probability(links, variance), _TINY, 1.0 - 1e-16)
        return np.where(variance > 0.0, logit(mean), links)

    def _allowed(self, rows: Rows) -> np.ndarray:
        task = np.zeros(rows.X.shape[0], dtype=np.int32)
        return self._label_sets.allowed(
            rows.codes[0] if self.task is not None else task
        )

    def predict_proba(self, X: Table) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``; zero for classes that a task lacks.
        """
        rows = self._new_rows(X)
        if not self._fits:
            return np.ones((rows.X.shape[0], 1))
        scores = self._scores(rows)
        if len(self._fits) == 1:
            scores = np.hstack([-scores, scores])
        # far from all others, a class still is possible
        proba = np.maximum(expit(scores), _TINY)
        proba = np.where(self._allowed(rows), proba, 0.0)
        return proba / proba.sum(axis=1, keepdims=True)

    def decision_function(self, X: Table) -> np.ndarray:
        """Log odds of the classes; of averaged probabilities for unknown tasks.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, log odds of the second; otherwise, of each class against
            all others, those that a task lacks below all others.
        """
        rows = self._new_rows(X)
        return self._decisions(rows)

    def _decisions(self, rows: Rows) -> np.ndarray:
        if not self._fits:
            return np.zeros(rows.X.shape[0])
        scores, allowed = self._scores(rows), self._allowed(rows)
        if len(self._fits) == 1:
            # of a task of one class, the sign is that of the class
            far = np.abs(scores[:, 0]) + 1.0
            out = np.where(allowed[:, 0], scores[:, 0], far)
            return np.where(allowed[:, 1], out, -far)
        least = np.where(allowed, scores, np.inf).min(axis=1, keepdims=True)
        return np.where(allowed, scores, least - 1.0)

    def predict(self, X: Table) -> np.ndarray:
        """The most probable class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        decisions = self._decisions(self._new_rows(X))
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(decisions))
        if decisions.ndim == 1:
            return self.classes_[(decisions > 0.0).astype(np.intp)]
        return self.classes_[np.argmax(decisions, axis=1)]

    def predict_interval(self, X: Table, level: float = 0.95) -> np.ndarray:
        """Intervals that hold the probabilities of the classes.

        They tell how sure the coefficients and the tasks' effects are, given the
        covariances; for an unknown task they span the tasks that there may be.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        level : float, default=0.95
            The probability that the interval holds that of the class.

        Returns
        -------
        ndarray of shape (n_samples, n_classes, 2)
            Lower and upper ends. With more than two classes, of each class against all
            others.
        """
        self._check_level(level)
        rows = self._new_rows(X)
        if not self._fits:
            return np.ones((rows.X.shape[0], 1, 2))
        half = norm.ppf(0.5 + level / 2.0) * np.sqrt(self._variances(rows))
        link = self._links(rows)
        ends = expit(np.stack([link - half, link + half], axis=2))
        if len(self._fits) == 1:
            return np.concatenate([1.0 - ends[:, :, ::-1], ends], axis=1)
        return ends

    def _row_variance(self) -> float:
        return np.pi**2 / 3.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags
