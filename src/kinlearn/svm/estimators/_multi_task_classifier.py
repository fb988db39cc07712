"""SVM+MTL for classes (Cai 2011, chapter 4)."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from kinlearn.svm._kernel import (
    CorrectionGamma,
    CorrectionKernel,
    Gamma,
    KernelName,
)
from kinlearn.svm._problem import Problem, class_scores
from kinlearn.svm.estimators._multi_task_base import MultiTaskSVMBase
from kinlearn.utils._callbacks import with_callbacks
from kinlearn.utils._typing import ArrayLike, LabelRule, Table, TaskColumn

__all__ = ["MultiTaskSVC"]


class MultiTaskSVC(ClassifierMixin, MultiTaskSVMBase):
    r"""Support vector classifier of tasks that share one function (SVM+MTL).

    The decision for a row x of task r is :math:`f_r(x) = w \cdot z(x) + b + w_r \cdot
    z_r(x) + d_r`: a function that all tasks share, in the space of `kernel`, and a
    correction of the task's own, in the space of `correction_kernel`. Fitted is

    .. math:: \min \tfrac12 |w|^2 + \tfrac{\gamma}{2} \sum_r |w_r|^2
        + C \sum_i s_i \max(0, 1 - y_i f_{r(i)}(x_i)),

    where :math:`\gamma` is `correction_penalty` and s the weights of the rows. A large
    penalty makes one machine of all tasks with biases of their own, a small one makes
    a machine of each task.

    Parameters
    ----------
    C : float, default=1.0
        Cost of errors.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel of the common function. For "precomputed" see Notes. A callable gets two
        arrays of rows and returns the kernel between these, of shape (len(X), len(Z)).
    gamma : float, {"scale", "auto", "median"}, default="scale"
        Of rbf and poly: "scale" is 1 / (n_features * X.var()), with the variance by
        `sample_weight` and `class_weight` (see Notes), "auto" is 1 / n_features,
        "median" is 1 over the median squared distance between rows.
    degree : int, default=3
        Of poly, ``(gamma x.z + coef0)^degree``.
    coef0 : float, default=0.0
        Of poly.
    correction_kernel : str, callable, mapping or None, default=None
        Kernel of the tasks' corrections; None is `kernel`.
        A mapping from tasks to kernels, as in ``{"ann": "linear"}``, gives each task
        its own; those that it does not name have `kernel`.
    correction_gamma, correction_degree, correction_coef0 : default=None
        Parameters of the correcting kernel; None is that of the decision kernel.
        `correction_gamma` may be a mapping from tasks as well.
    correction_penalty : float, default=1.0
        Price of corrections (the thesis's gamma).
    fit_intercept : bool, default=True
        Whether every task has a bias. False with one kernel for both functions is
        regularised multi-task learning, rMTL [2]_.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, times those of the rows: ``{0: c_fp, 1: c_fn}`` are
        the costs of false positives and false negatives.
    multi_class : {"ovo", "ovr"}, default="ovo"
        With more than two classes: a machine for each pair, or one for each class
        against the rest.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict by the common function; "warn"
        names them in a warning, "share" does not, "error" refuses them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get: its own and those of all tasks that it has one in
        common with, from task to task; its own alone; or those that a mapping from
        tasks to classes gives it. See :ref:`label-sets`.
    solver : {"auto", "smo", "linear"}, default="auto"
        "linear" is for two linear kernels: it keeps weights instead of kernel rows.
        "auto" takes it for these, unless there are thousands of both rows and
        features. Both find the same solution.
    tol : float, default=1e-3
        Violation of the optimality conditions to stop at.
    max_iter : int, default=-1
        Limit of the solver's iterations; -1 is 10 million moves (100 for each row if
        that is more), or 100 steps of the linear solver, after which "auto" goes on
        with SMO. Up to 3,000 rows "auto" leaves moves that take too long for
        interior-point steps with the whole kernel matrix.
    cache_size : float, default=200
        Megabytes for kernel rows.
    shrinking : bool, default=True
        Whether the solver sets aside rows that look settled.
    warm_start : bool, default=False
        Whether a further fit on the same rows starts from the last solution; the
        linear solver always starts anew.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Rows of the training data that the machines rest on, task by task.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        These rows; no columns if the kernels are precomputed.
    task_support_ : dict
        Row numbers of the support vectors of each task.
    dual_coef_ : ndarray of shape (n_machines, n_support)
        Coefficients y_i a_i. Two classes have one machine.
    intercept_ : ndarray of shape (n_machines, n_tasks)
        Biases b + d_r.
    common_intercept_ : ndarray of shape (n_machines,)
        Their means, weighted by the costs of the tasks' rows: the bias of the
        common function.
    coef_ : ndarray of shape (n_machines, n_features)
        w, if `kernel` is linear.
    task_coef_ : ndarray of shape (n_machines, n_tasks, n_features)
        w_r, if the correcting kernel is linear.
    n_iter_ : ndarray of shape (n_machines,)
        Iterations: moves of two rows by SMO, interior-point steps.
    dual_objective_ : ndarray of shape (n_machines,)
        Objective of the dual, which is minimised.
    violation_ : ndarray of shape (n_machines,)
        Greatest violation of the optimality conditions that is left, in double
        precision.
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
    MultiTaskSVR : The same for numbers.

    Notes
    -----
    The dual has one equality for each task, so the solver (generalized SMO [1]_) moves
    two rows of one task at a time: of the task that violates optimality most, and
    with the second row chosen by the decrease it promises. The thesis compares such
    pairs of all tasks, which takes a kernel row of each. Where it prints a wrong
    sign, a wrong index in the clipping, and a bias averaged over all support vectors,
    this follows the derivation: both rows are clipped, and the bias of a task is
    averaged over its free vectors (the middle of what the bounds allow, if none is).
    The biases b and d_r are determined only as a sum; b is by definition their
    weighted mean here.

    One task alone has both functions too. With one kernel that is a machine with the
    kernel times ``1 + 1 / correction_penalty``; ``correction_penalty=1e12`` makes it
    scikit-learn's ``SVC``. A weight of 2 is the row twice, so ``gamma="scale"`` goes by
    the weighted variance. ``SVC`` ignores the weights there: give `gamma` as a number
    to have its model.

    A machine of which a task has the rows of one side alone keeps the common function
    there, moved by a bias no further than these rows demand: a class that a task's rows
    do not show is predicted where the common function is sure enough of it. With
    several classes, the score that `decision_function` returns for classes outside of a
    task's label set is one less than the least of the others.

    **Precomputed kernels**: X holds the kernel between its rows and the training
    rows, a column each, in fit and in prediction, and then the task column
    (``with_task(K, task)``, ``task=-1``). If both kernels are precomputed and differ,
    X is ``[K, K*, task]``; if only one is, ``[matrix, features, task]``. The columns of
    a matrix must be cut together with the rows. Scikit-learn's cross-validation does
    so only for an X that is one matrix and nothing else; with a task column, features
    or two matrices, loop over the folds yourself (the user guide shows how). A matrix
    that was not cut is refused where its columns are too many, or where it is then not
    symmetric; only the first rows of one, with features behind it, look like a cut one.

    References
    ----------
    .. [1] F. Cai. Advanced learning approaches based on SVM+ methodology. PhD thesis,
       University of Minnesota, 2011.
    .. [2] T. Evgeniou, M. Pontil. Regularized multi-task learning. KDD 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.svm import MultiTaskSVC
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, size=(90, 1))
    >>> task = np.arange(90) % 3
    >>> y = x[:, 0] > np.array([-0.2, 0.0, 0.4])[task]  # three thresholds
    >>> X = np.column_stack([x, task])
    >>> model = MultiTaskSVC(C=100, kernel="linear", task=-1).fit(X, y)
    >>> model.predict([[0.2, 0], [0.2, 2]])
    array([ True, False])
    >>> model.task_support_[0].shape
    (2,)
    """

    _parameter_constraints: dict = {
        **MultiTaskSVMBase._parameter_constraints,
        **MultiTaskSVMBase._label_parameter_constraints,
        **MultiTaskSVMBase._class_constraints,
    }

    _seconds_by_pair = 4e-9

    def __init__(
        self,
        C: float = 1.0,
        *,
        task: TaskColumn = None,
        kernel: KernelName = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        correction_kernel: CorrectionKernel | None = None,
        correction_gamma: CorrectionGamma | None = None,
        correction_degree: int | None = None,
        correction_coef0: float | None = None,
        correction_penalty: float = 1.0,
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        solver: Literal["auto", "smo", "linear"] = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
        cache_size: float = 200,
        shrinking: bool = True,
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.task = task
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.correction_kernel = correction_kernel
        self.correction_gamma = correction_gamma
        self.correction_degree = correction_degree
        self.correction_coef0 = correction_coef0
        self.correction_penalty = correction_penalty
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.unknown_task = unknown_task
        self.label_sets = label_sets
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.warm_start = warm_start

    @with_callbacks
    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the machines.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Labels, which may differ from task to task.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C by row.

        Returns
        -------
        self
            The fitted classifier.
        """
        self._validate_params()
        data = self._fit_data(X, y, sample_weight, labels="classes", order="C")
        data = self._weigh_classes(data)
        cost = self.C * self._row_weights(data)
        if not (cost > 0).any():
            raise ValueError(
                f"{type(self).__name__} needs rows with a positive weight; "
                f"class_weight={self.class_weight!r} leaves none. Give a class of y "
                "more than 0."
            )
        problems = self._class_problems(data.y, len(data.classes), cost, data.task)
        weight = np.array([_task_weights(p, data.n_tasks) for p in problems])
        self._solve_all(X, y, data, problems, cost, weight.reshape(-1, data.n_tasks))
        self.dual_coef_ = self._machines.dual_coef
        self.intercept_ = self._machines.intercept
        self.common_intercept_ = self._machines.common_intercept
        return self

    def partial_fit(
        self,
        X: Table,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows, of known or new tasks, by solving their tasks' corrections again.

        The first call is a fit. In later ones the common function stays; the
        correction of each task in X is solved again, from the rows that are left of
        the task and the new ones. Predictions for tasks without new rows do not change.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Labels; after the first call no other classes than in that.
        classes : array-like of shape (n_classes,), default=None
            All classes; in the first call, y must hold each of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C by row.

        Returns
        -------
        self
            The machines. `dual_coef_` and `support_` stay those of the first call.

        Notes
        -----
        What is left of a task are its support vectors (where it has none, the row of
        each side that bounds its bias). They alone give the correction that the task
        has, so nothing is lost before new rows come. Two things then are, against a
        fit of all rows: the common function does not learn from new rows, and other
        old rows, which the new boundary may come near to, are forgotten.
        """
        if hasattr(self, "_machines"):
            later = self._later_data(X, y, sample_weight)
            return self._add_later(later, "partial_fit")
        self._check_first_classes(y, classes)
        return self.fit(X, y, sample_weight)

    def _later_cost(self, later: Any) -> np.ndarray:
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" depends on all rows together. Give the '
                "weights of the classes as a dict, or fit anew with all rows."
            )
        cost = self.C * later.sample_weight
        if self.class_weight is None:
            return cost
        labels = self.classes_[later.y].tolist()
        return cost * np.array([self.class_weight.get(v, 1.0) for v in labels])

    def _problems(self, y: np.ndarray, cost: np.ndarray) -> list[Problem]:
        task = np.zeros(len(y), dtype=np.int32)
        return self._class_problems(y, len(self.classes_), cost, task)

    def _scores(self, task: np.ndarray, values: np.ndarray) -> np.ndarray:
        """A score of each class, from the machines' values."""
        n_classes = len(self.classes_)
        if n_classes == 1:
            return np.zeros(len(values))
        allowed = self._label_sets.allowed(task)
        return class_scores(values, n_classes, self.multi_class, allowed)

    def decision_function(self, X: Table) -> np.ndarray:
        """Values of the decision functions of the rows' tasks.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive for ``classes_[1]``; with more, a score of
            each: votes and a fraction of the summed values ("ovo"), or values.
        """
        return self._scores(*self._values(X))

    def common_decision_function(self, X: Table) -> np.ndarray:
        """The same by the common function alone.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores. With two classes, or "ovr", :meth:`decision_function` is this and
            :meth:`task_decision_function` together, for the classes that the task
            has. The votes of "ovo" do not add up.
        """
        return self._scores(*self._common_values(X))

    def task_decision_function(self, X: Table) -> np.ndarray:
        """What the rows' tasks add to the common function, machine by machine.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_machines)
            Values of the tasks' corrections, biases included; 0 for a task that fit
            did not see. With more than two classes a column for each machine: each
            pair (0, 1), (0, 2), ... of ``classes_``, positive for the second one
            ("ovo"), or each class ("ovr").
        """
        values = self._task_values(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Table) -> np.ndarray:
        """The class with the greatest score among those of the row's task.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        task, values = self._values(X)
        scores = self._scores(task, values)
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])[:, : len(self.classes_)]
        allowed = self._label_sets.allowed(task)
        return self.classes_[np.where(allowed, scores, -np.inf).argmax(axis=1)]


def _task_weights(problem: Problem, n_tasks: int) -> np.ndarray:
    """What each task counts in the common bias: its costs, if it has both classes."""
    cost = problem.high - problem.low
    total = np.bincount(problem.group, weights=cost, minlength=n_tasks)
    positive = np.bincount(problem.group, weights=problem.high, minlength=n_tasks)
    both = np.where((positive > 0) & (positive < total), total, 0.0)
    return both if both.any() else total
