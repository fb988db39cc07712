"""SVM+ for numbers, with privileged columns or groups (Cai 2011, chapter 5)."""

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from sklearn.base import RegressorMixin

from kinlearn.svm._kernel import (
    CorrectionGamma,
    CorrectionKernel,
    Gamma,
    KernelName,
)
from kinlearn.svm._problem import regression
from kinlearn.svm.estimators._svm_plus_base import SVMPlusBase
from kinlearn.utils._callbacks import with_callbacks
from kinlearn.utils._typing import ArrayLike, Table, TaskColumn

__all__ = ["SVMPlusRegressor"]


class SVMPlusRegressor(RegressorMixin, SVMPlusBase):
    r"""Support vector regressor that learns from columns known in training only.

    The errors beyond the tube, above and below, are functions of *privileged*
    columns x*, which show which training rows are hard:

    .. math::

        \min \tfrac12 |w|^2 + \tfrac{\gamma}{2} \sum_g (|w_g|^2 + |w^*_g|^2)
            + C \sum_i s_i (\xi_i + \xi^*_i), \qquad
        f(x_i) - y_i \le \epsilon + \xi_i, \quad y_i - f(x_i) \le \epsilon + \xi^*_i,

    with :math:`f(x) = w \cdot z(x) + b`, :math:`\xi_i = w_g \cdot z^*(x^*_i) + d_g
    \ge 0`, :math:`\xi^*_i` alike, :math:`\gamma` being `correction_penalty` and s the
    weights of the rows. Without `group` there is one pair of correcting functions;
    with it, each group has its own (learning with structured data), over the
    privileged columns if there are any, else over x itself. Predictions use x alone.

    Parameters
    ----------
    C : float or "analytic", default=1.0
        Cost of errors; "analytic" is :func:`analytic_C` of y.
    epsilon : float or "analytic", default=0.1
        Half the width of the tube, in which there are no errors; "analytic" is
        :func:`analytic_epsilon` of the features and y.
    privileged : str, int or list of them, default=None
        Names or positions of the privileged columns. They may be absent in
        prediction, and are not looked at there.
    group : str, int or None, default=None
        Name or position of a column with groups, which need not be known in
        prediction. It may be absent there.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel of the regression function; see SVMPlusClassifier for "precomputed". A
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
        Kernel of the correcting functions; None is `kernel`.
        A mapping from groups to kernels, as in ``{"ann": "linear"}``, gives each group
        its own; those that it does not name have `kernel`.
    correction_gamma, correction_degree, correction_coef0 : default=None
        Parameters of the correcting kernel; None is that of the regression kernel. A
        rule such as "scale" is applied to the columns that the kernel works on.
        `correction_gamma` may be a mapping from groups as well.
    correction_penalty : float, default=1.0
        Price of correcting functions that are not constant (the paper's gamma).
    tol : float, default=1e-3
        Violation of the optimality conditions to stop at.
    max_iter : int, default=-1
        Limit of the solver's moves; -1 is 10 million, or 100 for each row if that is
        more.
    cache_size : float, default=200
        Megabytes for kernel rows.
    warm_start : bool, default=False
        Whether a further fit on the same rows and groups starts from the last
        solution; weights of the rows may change by one factor, as C does.

    Attributes
    ----------
    correcting_values_ : ndarray of shape (n_samples, 2)
        Correcting functions on the training rows: how far beyond the tube the
        prediction may be too high (first column) and too low (second), by the
        privileged view. NaN for rows without weight.
    C_, epsilon_ : float
        The numbers that were used.
    support_ : ndarray of shape (n_support,)
        Rows of the training data that the function rests on.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        These rows; no columns if the kernel is precomputed.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients a*_i - a_i.
    intercept_ : ndarray of shape (1,)
        Bias.
    coef_ : ndarray of shape (1, n_features)
        w, if `kernel` is linear.
    n_iter_, dual_objective_, violation_ : ndarrays of shape (1,)
        Moves of the solver, objective of the dual (which is minimised), and greatest
        violation of the optimality conditions that is left.
    groups_ : ndarray of shape (n_groups,) or None
        Values of the group column.
    feature_names_ : ndarray of shape (n_features,)
        Names of the columns of x: no privileged ones, no groups.
    n_features_in_ : int
        Number of columns of X in fit, these included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    SVMPlusClassifier : The same for classes; its notes on limits hold here, too.
    MultiTaskSVR : For groups that are known in prediction, too.

    Notes
    -----
    Without privileged columns and groups the model is scikit-learn's ``SVR``. If the
    columns are constant, the errors above and below are one number each.

    The bias is often not unique here: where no correcting function touches 0, a higher
    f costs above what it saves below. The middle of the interval is taken.

    References
    ----------
    F. Cai, "Advanced learning approaches based on SVM+ methodology", thesis,
    University of Minnesota, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.svm import SVMPlusRegressor
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.uniform(-2, 2, size=100), rng.normal(scale=0.3, size=100)
    >>> X = np.column_stack([x, noise])
    >>> model = SVMPlusRegressor(C="analytic", privileged=-1).fit(X, np.sin(x) + noise)
    >>> model.predict([[0.5], [1.5]]).round(1)  # sin is 0.48 and 1.00
    array([0.5, 1. ])
    """

    _parameter_constraints: dict = {
        **SVMPlusBase._parameter_constraints,
        **SVMPlusBase._number_constraints,
    }

    def __init__(
        self,
        C: float | Literal["analytic"] = 1.0,
        *,
        epsilon: float | Literal["analytic"] = 0.1,
        privileged: str | int | Sequence[str] | Sequence[int] | None = None,
        group: TaskColumn = None,
        kernel: KernelName = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        correction_kernel: CorrectionKernel | None = None,
        correction_gamma: CorrectionGamma | None = None,
        correction_degree: int | None = None,
        correction_coef0: float | None = None,
        correction_penalty: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        cache_size: float = 200,
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.privileged = privileged
        self.group = group
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.correction_kernel = correction_kernel
        self.correction_gamma = correction_gamma
        self.correction_degree = correction_degree
        self.correction_coef0 = correction_coef0
        self.correction_penalty = correction_penalty
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start

    @with_callbacks
    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the function.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the privileged columns and the group column.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C by row.

        Returns
        -------
        SVMPlusRegressor
            The fitted regressor.
        """
        self._validate_params()
        data = self._fit_rows(X, y, sample_weight, "numbers")
        weight = self._row_weights(data)
        self._set_cost_and_tube(data, weight, None, self.kernel != "precomputed")
        groups = self._groups(data)
        cost = self.C_ * weight
        problem = regression(groups, groups.max() + 1, data.y, cost, self.epsilon_)
        (solution,) = self._solve_all(X, y, data, [problem])
        self.correcting_values_ = np.full((data.n_samples, 2), np.nan)
        self.correcting_values_[problem.rows] = solution.slack.T
        return self

    def predict(self, X: Table) -> np.ndarray:
        """Values of the regression function.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows, with or without the columns of training.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers.
        """
        return self._values(X)[:, 0]
