"""SVM+ for classes, with privileged columns or groups (Vapnik 2006, Cai 2011)."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from kinlearn.svm._kernel import (
    CorrectionGamma,
    CorrectionKernel,
    Gamma,
    KernelName,
)
from kinlearn.svm._problem import class_scores
from kinlearn.svm.estimators._svm_plus_base import SVMPlusBase
from kinlearn.tasks import TaskData
from kinlearn.utils._callbacks import with_callbacks
from kinlearn.utils._typing import ArrayLike, Table, TaskColumn

__all__ = ["SVMPlusClassifier"]


class SVMPlusClassifier(ClassifierMixin, SVMPlusBase):
    r"""Support vector classifier that learns from columns known in training only.

    A plain SVM may choose the slack (the error) of each training row as it likes.
    SVM+ makes the slacks a function of *privileged* columns x*, such as a biopsy that
    comes after the diagnosis: they show which rows are hard. Fitted is

    .. math::

        \min \tfrac12 |w|^2 + \tfrac{\gamma}{2} \sum_g |w_g|^2 + C \sum_i s_i \xi_i,
        \qquad y_i (w \cdot z(x_i) + b) \ge 1 - \xi_i, \qquad
        \xi_i = w_g \cdot z^*(x^*_i) + d_g \ge 0,

    where :math:`\gamma` is `correction_penalty` and s the weights of the rows. Without
    `group` there is one correcting function :math:`(w_g, d_g)`; with it, each group
    has its own (learning with structured data), over the privileged columns if there
    are any, else over x itself. Predictions use x alone.

    Parameters
    ----------
    C : float, default=1.0
        Cost of errors.
    privileged : str, int or list of them, default=None
        Names or positions of the privileged columns. They may be absent in
        prediction, and are not looked at there.
    group : str, int or None, default=None
        Name or position of a column with groups, such as the person who wrote a
        digit, which need not be known in prediction. It may be absent there.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel of the decision function. For "precomputed" see Notes. A callable gets
        two arrays of rows and returns the kernel between these, of shape (len(X),
        len(Z)).
    gamma : float, {"scale", "auto", "median"}, default="scale"
        Of rbf and poly: "scale" is 1 / (n_features * X.var()), with the variance by
        `sample_weight` and `class_weight` (a weight of 2 is the row twice, other than
        in scikit-learn),
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
        Parameters of the correcting kernel; None is that of the decision kernel. A
        rule such as "scale" is applied to the columns that the kernel works on.
        `correction_gamma` may be a mapping from groups as well.
    correction_penalty : float, default=1.0
        Price of correcting functions that are not constant (the paper's gamma).
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, times those of the rows.
    multi_class : {"ovo", "ovr"}, default="ovo"
        With more than two classes: a machine for each pair, or one for each class
        against the rest.
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
    correcting_values_ : ndarray of shape (n_samples,) or (n_samples, n_machines)
        Correcting functions on the training rows: how hard each row was, by the
        privileged view. 0 is easy; above 1 an error was expected. NaN for rows
        without weight, and for those that a machine did not see.
    support_ : ndarray of shape (n_support,)
        Rows of the training data that the machines rest on.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        These rows; no columns if the kernel is precomputed.
    dual_coef_ : ndarray of shape (n_machines, n_support)
        Coefficients y_i a_i. Two classes have one machine.
    intercept_ : ndarray of shape (n_machines,)
        Biases.
    coef_ : ndarray of shape (n_machines, n_features)
        w, if `kernel` is linear.
    n_iter_ : ndarray of shape (n_machines,)
        Moves of the solver.
    dual_objective_ : ndarray of shape (n_machines,)
        Objective of the dual, which is minimised.
    violation_ : ndarray of shape (n_machines,)
        Greatest violation of the optimality conditions that is left.
    classes_ : ndarray of shape (n_classes,)
        Labels.
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
    SVMPlusRegressor : The same for numbers.
    PrivilegedFeatureSelectionClassifier : Makes privileged columns of features that a
        selection drops.
    MultiTaskSVC : For groups that are known in prediction, too.

    Notes
    -----
    **Limits.** These follow from the dual, and tests hold them:

    - Without privileged columns and groups nothing ties the slacks, and the model is
      scikit-learn's ``SVC``. It is also the limit of a small `correction_penalty`, if
      the correcting kernel can distinguish all rows (rbf).
    - A constant privileged column is another thing: then all slacks are one number,
      the largest, and fitted is :math:`\tfrac12 |w|^2 + C \sum_i s_i \cdot \max_i
      \max(0, 1 - y_i f(x_i))`. One outlier pays for all, and weights of rows or
      classes count by their sum alone. The same is the limit of a large
      `correction_penalty`, with one number for each group.
    - A single group is one correcting function over x.

    **Solver.** Blocks of rows are solved by moves of two to four variables along
    elementary directions of the dual (which has two variables for each row), each the
    best of the most violating ones by second order, and by Newton steps where moves
    are slow. The bias is averaged over rows with both variables above 0; if there
    are none it may be any number of an interval, whose middle is taken.

    **Precomputed kernels.** X holds the kernel between its rows and the training
    rows, a column each, in fit and in prediction. If the correcting kernel is
    precomputed, the privileged columns are its matrix (or X is, for groups without
    privileged columns). With such columns X is not square, and cross-validation in
    scikit-learn does not cut it.

    References
    ----------
    V. Vapnik, A. Vashist, "A new learning paradigm: learning using privileged
    information", Neural Networks 22, 2009.

    F. Cai, "Advanced learning approaches based on SVM+ methodology", thesis,
    University of Minnesota, 2011.

    Examples
    --------
    The last column is how much noise a row had; it is gone in prediction.

    >>> import numpy as np
    >>> from kinlearn.svm import SVMPlusClassifier
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(80, 2))
    >>> noise = rng.normal(size=80) * (rng.uniform(size=80) < 0.3)
    >>> y = x.sum(axis=1) + 2 * noise > 0
    >>> X = np.column_stack([x, np.abs(noise)])
    >>> model = SVMPlusClassifier(kernel="linear", privileged=-1).fit(X, y)
    >>> model.predict([[1.0, 1.0], [-1.0, -1.0]])
    array([ True, False])
    >>> hard = model.correcting_values_
    >>> bool(hard[np.abs(noise) > 1].mean() > hard[noise == 0].mean())
    True
    """

    _parameter_constraints: dict = {
        **SVMPlusBase._parameter_constraints,
        **SVMPlusBase._class_constraints,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
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
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        tol: float = 1e-3,
        max_iter: int = -1,
        cache_size: float = 200,
        warm_start: bool = False,
    ) -> None:
        self.C = C
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
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start

    @with_callbacks
    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the machines.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the privileged columns and the group column.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C by row.

        Returns
        -------
        SVMPlusClassifier
            The fitted classifier.
        """
        self._validate_params()
        data = self._fit_rows(X, y, sample_weight, "classes")
        self.classes_ = data.classes
        data = self._weigh_classes(data)
        self._check_classes(data)
        cost = self.C * self._row_weights(data)
        groups = self._groups(data)
        problems = self._class_problems(data.y, len(self.classes_), cost, groups)
        solutions = self._solve_all(X, y, data, problems)
        values = np.full((data.n_samples, len(problems)), np.nan)
        for m, (problem, solution) in enumerate(zip(problems, solutions, strict=True)):
            values[problem.rows, m] = solution.slack[0]
        self.correcting_values_ = values[:, 0] if len(problems) == 1 else values
        return self

    def _check_classes(self, data: TaskData) -> None:
        """Every class must have rows with a weight."""
        weight = self._row_weights(data)
        total = np.bincount(data.y, weights=weight, minlength=len(data.classes))
        if len(total) < 2 or (total <= 0).any():
            what = f"y has one class ({data.classes.tolist()[0]!r})"
            if len(total) > 1:
                lost = data.classes.tolist()[int(np.argmin(total))]
                what = f"class {lost!r} has no row of positive weight"
            raise ValueError(
                f"{type(self).__name__} needs at least two classes with rows; {what}. "
                "Add rows of another class, or drop those without weight."
            )

    def decision_function(self, X: Table) -> np.ndarray:
        """Values of the decision function.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows, with or without the columns of training.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive for ``classes_[1]``; with more, a score of
            each: votes and a fraction of the summed values ("ovo"), or values.
        """
        values = self._values(X)
        return class_scores(values, len(self.classes_), self.multi_class)

    def predict(self, X: Table) -> np.ndarray:
        """The class with the greatest score.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows, with or without the columns of training.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best.astype(int)]
