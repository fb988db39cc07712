"""Logistic regression of many tasks under penalties that relate them."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin

from kinlearn.linear.penalties._base import MultiTaskLinearBase
from kinlearn.linear.penalties._design import Layout
from kinlearn.linear.penalties._later import TaskPrior, fit_later_classes, one_task
from kinlearn.linear.penalties._losses import ClassLoss, Loss, TwoClassLoss
from kinlearn.tasks import TaskData, find_label_sets
from kinlearn.utils._typing import ArrayLike, LabelRule, Table, TaskColumn

__all__ = ["MultiTaskLinearClassifier"]


class MultiTaskLinearClassifier(ClassifierMixin, MultiTaskLinearBase):
    r"""Logistic regression of many tasks, each with its own rows and coefficients.

    Minimised is

    .. math:: \sum_t \frac{1}{n_t} \sum_{i \in t} -\log p_t(y_i \mid x_i)
        + \alpha\, \Omega(W),

    where :math:`n_t` is the number (or weight) of the rows of task t, and
    :math:`p_t` is the logistic function of :math:`x \cdot w_t + b_t` for two classes,
    the softmax of a score for each class that the task's rows have for more. The
    intercepts are free. The penalties :math:`\Omega` are those of
    :class:`MultiTaskLinearRegressor`, with a column of W for each task, or for each
    class of each task: "graph" links the same class of two tasks, and "clustered" has
    a mean for each class.

    Parameters
    ----------
    penalty : str, default="l21"
        How the tasks are related: "l21", "trace", "graph", "clustered", "covariance" or
        "shared_sparse".
    alpha : float or "auto", default="auto"
        Factor of the penalty. "auto" takes that of a path (`alphas`) with the least
        log loss of rows held out, in folds that have their fraction of every task
        and class.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    alphas : array-like of shape (n_alphas,) or None, default=None
        The path; None is `n_alphas` values from one where all coefficients are 0, or
        nearly so, down to a hundredth of it (a millionth for "graph", "clustered" and
        "covariance").
    n_alphas : int, default=30
        Length of the path.
    n_folds : int, default=5
        Folds of ``alpha="auto"``.
    graph : array-like of shape (n_tasks, n_tasks), mapping or None, default=None
        Of "graph": symmetric weights of links, in ascending order of the tasks, or a
        mapping from pairs of tasks to weights. Time grows with the cube of the number
        of tasks, or of their classes if there are more than two; it may be 10,000 at
        the most.
    n_clusters : int, default=2
        Of "clustered".
    within_penalty : float, default=10.0
        Of "clustered": price of departures from the cluster, at least 1.
    own_penalty : float or None, default=None
        Of "shared_sparse": price of a coefficient of one task alone. It has an effect
        between :math:`1 / \sqrt{T}` for T tasks (nothing is shared) and 1 (nothing is a
        task's own); None is :math:`T^{-1/4}`, the middle.
    ridge : float, default=0.1
        Of "graph", "clustered" and "covariance": see above.
    scale : bool, default=True
        Whether features are divided by their standard deviations (over all rows)
        before the penalty is taken. `coef_` has the units of X all the same.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict by the mean of the tasks'
        coefficients; "warn" names them in a warning, "share" does not, "error" refuses
        them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get: its own and those of all tasks that it has one in
        common with, from task to task; its own alone; or those that a mapping from
        tasks to classes gives it. See :ref:`label-sets`.
    tol : float, default=1e-5
        The duality gap to stop at, as a fraction of the loss without features.
    max_iter : int, default=10000
        Limit of iterations for each alpha: sets of features, or proximal steps.

    Attributes
    ----------
    coef_ : ndarray of shape (n_tasks, n_features) or (n_tasks, n_classes, n_features)
        Coefficients of each task: for the second of two classes, otherwise for each
        class; 0 for classes that the task's rows do not have.
    intercept_ : ndarray of shape (n_tasks,) or (n_tasks, n_classes)
        Intercepts.
    alpha_ : float
        The factor that was chosen or given.
    alphas_ : ndarray of shape (n_alphas,)
        The path, descending; of ``alpha="auto"``.
    path_losses_ : ndarray of shape (n_alphas, n_folds)
        Mean log loss of rows held out, for each alpha.
    dual_gap_ : float
        By how much the objective is above its least value, at most.
    objective_ : float
        The objective.
    n_iter_ : int
        Iterations for the last alpha.
    selected_features_ : ndarray
        Numbers of the features with a coefficient other than 0 in some task.
    shared_coef_, own_coef_ : ndarray of the shape of `coef_`
        The two parts of `coef_`; of "shared_sparse".
    clusters_ : ndarray of shape (n_tasks,)
        Cluster of each task; of "clustered".
    task_covariance_, task_correlation_, task_affinity_ : ndarray
        Relations of the tasks' coefficients, of all classes together, of shape
        (n_tasks, n_tasks).
    scale_ : ndarray of shape (n_features,)
        What features were divided by.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels.
    task_classes_ : dict
        Labels of each task by `label_sets`; a task is never given another.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    MultiTaskLinearRegressor : The same for numbers; its notes on the penalties and
        their references hold here too.

    Notes
    -----
    "l21" and "shared_sparse" are solved by Newton steps, each by descent over the
    features' blocks; for several classes the Hessian of a row is bounded by twice its
    diagonal. The others take accelerated proximal steps. All stop by a duality gap.

    A task whose rows show one class has no coefficients, and a class that they do not
    show has none there. What is common to all tasks is then mixed in, as by one row
    more (see :ref:`label-sets`).

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.linear import MultiTaskLinearClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(160, 8)), np.arange(160) % 4
    >>> y = X[:, 2] * np.array([1, 2, -1, 3])[task] + rng.normal(size=160) / 5 > 0
    >>> model = MultiTaskLinearClassifier("l21", alpha=0.2, task=-1)
    >>> model = model.fit(np.c_[X, task], y)
    >>> model.selected_features_
    array([2])
    >>> np.sign(model.coef_[:, 2])
    array([ 1.,  1., -1.,  1.])
    """

    _parameter_constraints: dict = {
        **MultiTaskLinearBase._parameter_constraints,
        **MultiTaskLinearBase._label_parameter_constraints,
    }

    def __init__(
        self,
        penalty: Literal[
            "l21", "trace", "graph", "clustered", "covariance", "shared_sparse"
        ] = "l21",
        alpha: float | Literal["auto"] = "auto",
        *,
        task: TaskColumn = None,
        alphas: ArrayLike | None = None,
        n_alphas: int = 30,
        n_folds: int = 5,
        graph: ArrayLike | Mapping[tuple[Any, Any], float] | None = None,
        n_clusters: int = 2,
        within_penalty: float = 10.0,
        own_penalty: float | None = None,
        ridge: float = 0.1,
        scale: bool = True,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        tol: float = 1e-5,
        max_iter: int = 10_000,
    ) -> None:
        super().__init__(
            penalty, alpha, task=task, alphas=alphas, n_alphas=n_alphas,
            n_folds=n_folds, graph=graph, n_clusters=n_clusters,
            within_penalty=within_penalty, own_penalty=own_penalty, ridge=ridge,
            scale=scale, unknown_task=unknown_task, tol=tol, max_iter=max_iter,
        )  # fmt: skip
        self.label_sets = label_sets

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> TaskData:
        return self._fit_data(X, y, sample_weight, labels="classes")

    def _outputs(
        self, data: TaskData, rows: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        task, y = data.task[rows], data.y[rows]
        rule = data.label_rule
        sets = find_label_sets(task, y, data.tasks, data.classes, rule, weight)
        self._label_sets = sets
        self.task_classes_ = sets.by_task(self.tasks_, self.classes_)
        shown = sets.observed
        n_shown = np.diff(shown.indptr)
        if len(self.classes_) <= 2:
            n_outputs = (n_shown == 2).astype(np.intp)
            return n_outputs, np.zeros(n_outputs.sum())
        n_outputs = np.where(n_shown > 1, n_shown, 0)
        return n_outputs, shown.codes[n_shown[shown.owner] > 1]

    def _loss(self, layout: Layout, y: np.ndarray, weight: np.ndarray) -> Loss:
        row = layout.pair_row
        if len(self.classes_) <= 2:
            return TwoClassLoss(layout, y[row].astype(np.float64), weight[row])
        own = y[row] == layout.label[layout.pair_output]
        return ClassLoss(layout, own.astype(np.float64), weight[row])

    def _spread(self, values: np.ndarray) -> np.ndarray:
        where, n_classes = self._layout, len(self.classes_)
        if n_classes <= 2:
            out = np.zeros((*values.shape[:-1], where.n_tasks))
            out[..., where.output_task] = values
            return out
        out = np.zeros((*values.shape[:-1], where.n_tasks, n_classes))
        out[..., where.output_task, where.label] = values
        return out

    def _with_outputs(self) -> np.ndarray:
        """Which classes of which tasks have coefficients, of shape (n_tasks, ...)."""
        shown = self._label_sets.observed.allowed(np.arange(len(self.tasks_)))
        several = shown.sum(axis=1) > 1
        return several if len(self.classes_) <= 2 else shown & several[:, None]

    def _set_coefficients(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        if intercept.ndim == 2:  # a constant of all classes of a task means nothing
            has = self._with_outputs()
            mean = intercept.sum(axis=1) / np.maximum(has.sum(axis=1), 1)
            intercept = np.where(has, intercept - mean[:, None], 0.0)
        super()._set_coefficients(coef, intercept)

    def _common(self, tasks: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        has = self._with_outputs()[tasks]
        count = np.maximum(has.sum(axis=0), 1)
        coef = self.coef_[tasks].sum(axis=0) / count[..., None]
        level = np.log(np.maximum(self._label_sets.class_weight, 1e-12))
        level = level[-1] - level[0] if has.ndim == 1 else level - level.mean()
        # classes without coefficients in any task have their frequency alone
        mean = self.intercept_[tasks].sum(axis=0) / count
        return coef, np.where(has.any(axis=0), mean, level)

    def _with_classes(self, coef: np.ndarray) -> np.ndarray:
        return coef[None] if coef.ndim == 1 else coef

    def _fit_added(
        self, prior: TaskPrior, rows: Any, Z: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        coef = np.zeros(self.coef_.shape[1:])
        intercept = np.zeros(self.intercept_.shape[1:])
        labels = np.unique(rows.y)
        if len(labels) < 2:
            return coef, intercept
        two = len(self.classes_) == 2
        layout = one_task(rows.n_samples, labels[-1:] * 0 if two else labels)
        fractions = rows.sample_weight / rows.sample_weight.sum()
        loss = self._loss(layout, rows.y, fractions)
        found, level = fit_later_classes(prior, Z, loss, layout.label)
        if two:
            return found[0], level[0]
        coef[labels], intercept[labels] = found, level
        return coef, intercept

    # ------------------------------------------------------------ prediction

    def _own_proba(self, X: Any, task: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores, and probabilities of classes that the task's rows have."""
        scores = self._scores(X, task)
        shown = self._label_sets.observed.allowed(task)
        if len(self.classes_) == 1:
            return scores, np.ones((len(task), 1))
        if scores.ndim == 2:
            return scores, softmax(np.where(shown, scores, -np.inf), axis=1)
        second = expit(scores)
        proba = np.column_stack([1 - second, second])
        lonely = shown.sum(axis=1) == 1
        proba[lonely] = shown[lonely]
        return scores, proba

    def _proba(self, X: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = self._predict_data(X)
        scores, proba = self._own_proba(rows.X, rows.task)

        def common(some: np.ndarray) -> np.ndarray:
            here = rows.X.tocsr()[some] if hasattr(rows.X, "tocsr") else rows.X[some]
            return self._own_proba(here, np.full(len(some), -1))[1]

        return rows.task, scores, self._label_sets.fill(proba, rows.task, common)

    def decision_function(self, X: Table) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the log-odds of the second; otherwise the log of each
            class's probability, those that a task lacks below all others.
        """
        task, scores, proba = self._proba(X)
        logs = np.log(np.maximum(proba, np.finfo(float).tiny))
        if len(self.classes_) <= 2:
            guessing = np.append(self._label_sets.guessing, False)[task]
            alone = self._label_sets.allowed(task).sum(axis=1) == 1
            return np.where(guessing | alone, logs[:, -1] - logs[:, 0], scores)
        allowed = self._label_sets.allowed(task)
        least = np.where(allowed, logs, np.inf).min(axis=1, keepdims=True)
        return np.where(allowed, logs, least - 1)

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
        return self._proba(X)[2]

    def predict(self, X: Table) -> np.ndarray:
        """The class of the highest probability.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        best = np.argmax(self._proba(X)[2], axis=1)
        return self.classes_[best]
