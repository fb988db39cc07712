"""SVM+MTL for numbers (Cai 2011, chapter 5)."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin

from kinlearn.svm._kernel import (
    CorrectionGamma,
    CorrectionKernel,
    Gamma,
    KernelName,
)
from kinlearn.svm._problem import Problem, regression
from kinlearn.svm.estimators._multi_task_base import MultiTaskSVMBase
from kinlearn.utils._callbacks import with_callbacks
from kinlearn.utils._typing import ArrayLike, Table, TaskColumn

__all__ = ["MultiTaskSVR"]


class MultiTaskSVR(RegressorMixin, MultiTaskSVMBase):
    r"""Support vector regression of tasks that share one function (SVM+MTL).

    The prediction for a row x of task r is :math:`f_r(x) = w \cdot z(x) + b + w_r \cdot
    z_r(x) + d_r`: a function that all tasks share, in the space of `kernel`, and a
    correction of the task's own, in the space of `correction_kernel`. Fitted is

    .. math:: \min \tfrac12 |w|^2 + \tfrac{\gamma}{2} \sum_r |w_r|^2
        + C \sum_i s_i \max(0, |y_i - f_{r(i)}(x_i)| - \varepsilon),

    where :math:`\gamma` is `correction_penalty` and s the weights of the rows.

    Parameters
    ----------
    C : float or "analytic", default=1.0
        Cost of errors. "analytic" is the greater of \|mean + 3 sd\| and
        \|mean - 3 sd\| of y [2]_.
    epsilon : float or "analytic", default=0.1
        Errors up to here are free. "analytic" is 3 s sqrt(log(n) / n), where s is the
        noise by nearest neighbours within each task [2]_.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel of the common function. For "precomputed" see :class:`MultiTaskSVC`. A
        callable gets two arrays of rows and returns the kernel between these, of shape
        (len(X), len(Z)).
    gamma : float, {"scale", "auto", "median"}, default="scale"
        Of rbf and poly: "scale" is 1 / (n_features * X.var()), with the variance by
        `sample_weight` (a weight of 2 is the row twice, other than in scikit-learn),
        "auto" is 1 / n_features, "median" is 1 over the median squared distance
        between rows.
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
        regularised multi-task learning, rMTL.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict by the common function; "warn"
        names them in a warning, "share" does not, "error" refuses them.
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
    C_, epsilon_ : float
        The values that were used.
    support_ : ndarray of shape (n_support,)
        Rows of the training data that the machine rests on, task by task.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        These rows; no columns if the kernels are precomputed.
    task_support_ : dict
        Row numbers of the support vectors of each task.
    dual_coef_ : ndarray of shape (n_support,)
        Coefficients.
    intercept_ : ndarray of shape (n_tasks,)
        Biases b + d_r.
    common_intercept_ : float
        Their mean, weighted by the costs of the tasks' rows: the bias of the common
        function.
    coef_ : ndarray of shape (1, n_features)
        w, if `kernel` is linear.
    task_coef_ : ndarray of shape (1, n_tasks, n_features)
        w_r, if the correcting kernel is linear.
    n_iter_ : int
        Iterations: moves of two rows by SMO, interior-point steps.
    dual_objective_ : float
        Objective of the dual, which is minimised.
    violation_ : float
        Greatest violation of the optimality conditions that is left, in double
        precision.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    MultiTaskSVC : The same for classes; its notes on the solver and on precomputed
        kernels hold here too.

    Notes
    -----
    The thesis [1]_ prints the dual in two families of variables; here it is solved in
    their difference, since never both of a row are positive. Scale y, or give
    `epsilon` in its units: the default is for targets of unit scale.

    References
    ----------
    .. [1] F. Cai. Advanced learning approaches based on SVM+ methodology. PhD thesis,
       University of Minnesota, 2011.
    .. [2] V. Cherkassky, Y. Ma. Practical selection of SVM parameters and noise
       estimation for SVM regression. Neural Networks, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.svm import MultiTaskSVR
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, size=(60, 1))
    >>> task = np.arange(60) % 2
    >>> y = 2 * x[:, 0] + 10 * task
    >>> X = np.column_stack([x, task])
    >>> model = MultiTaskSVR(C=10, kernel="linear", epsilon=0.01, task=-1).fit(X, y)
    >>> model.predict([[0.5, 0], [0.5, 1]]).round(1)
    array([ 1., 11.])
    """

    _parameter_constraints: dict = {
        **MultiTaskSVMBase._parameter_constraints,
        **MultiTaskSVMBase._number_constraints,
    }

    _seconds_by_pair = 1.5e-8

    def __init__(
        self,
        C: float | Literal["analytic"] = 1.0,
        *,
        epsilon: float | Literal["analytic"] = 0.1,
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
        unknown_task: Literal["warn", "share", "error"] = "warn",
        solver: Literal["auto", "smo", "linear"] = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
        cache_size: float = 200,
        shrinking: bool = True,
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
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
        self.unknown_task = unknown_task
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
        """Fit the machine.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C by row.

        Returns
        -------
        self
            The fitted regressor.
        """
        self._validate_params()
        data = self._fit_data(X, y, sample_weight, labels="numbers", order="C")
        weight = self._row_weights(data)
        features = "precomputed" not in (self.kernel, self.correction_kernel)
        self._set_cost_and_tube(data, weight, data.task, features)
        problem = regression(
            data.task, data.n_tasks, data.y, self.C_ * weight, self.epsilon_
        )
        task_weight = np.bincount(data.task, weights=weight, minlength=data.n_tasks)
        self._solve_all(X, y, data, [problem], self.C_ * weight, task_weight[None])
        self.dual_coef_ = self._machines.dual_coef[0]
        self.intercept_ = self._machines.intercept[0]
        self.common_intercept_ = float(self._machines.common_intercept[0])
        (self.n_iter_,) = self.n_iter_.tolist()
        (self.dual_objective_,) = self.dual_objective_.tolist()
        (self.violation_,) = self.violation_.tolist()
        return self

    def partial_fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
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
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C by row.

        Returns
        -------
        self
            The machine. `dual_coef_` and `support_` stay those of the first call, as
            `C_` and `epsilon_` do.

        Notes
        -----
        What is left of a task are its support vectors (where it has none, the two
        rows that bound its bias); see :meth:`MultiTaskSVC.partial_fit` for what is
        lost. With ``epsilon=0`` nearly all rows are support vectors.
        """
        if hasattr(self, "_machines"):
            later = self._later_data(X, y, sample_weight)
            return self._add_later(later, "partial_fit")
        return self.fit(X, y, sample_weight)

    def _later_cost(self, later: Any) -> np.ndarray:
        return self.C_ * later.sample_weight

    def _problems(self, y: np.ndarray, cost: np.ndarray) -> list[Problem]:
        task = np.zeros(len(y), dtype=np.int32)
        return [regression(task, 1, y, cost, self.epsilon_)]

    def predict(self, X: Table) -> np.ndarray:
        """Values of the functions of the rows' tasks.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        return self._values(X)[1][:, 0]

    def common_predict(self, X: Table) -> np.ndarray:
        """The same by the common function alone; see :meth:`task_predict`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        return self._common_values(X)[1][:, 0]

    def task_predict(self, X: Table) -> np.ndarray:
        """What the rows' tasks add: ``predict`` less ``common_predict``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Values of the tasks' corrections, biases included; 0 for a task that fit
            did not see.
        """
        return self._task_values(X)[:, 0]
