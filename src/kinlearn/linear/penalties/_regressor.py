"""Linear regression of many tasks under penalties that relate them."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from kinlearn.linear.penalties._base import MultiTaskLinearBase
from kinlearn.linear.penalties._design import Layout
from kinlearn.linear.penalties._later import TaskPrior, fit_later_numbers
from kinlearn.linear.penalties._losses import Loss, SquaredLoss
from kinlearn.linear.penalties._solution import Solution
from kinlearn.tasks import TaskData
from kinlearn.utils._typing import Table

__all__ = ["MultiTaskLinearRegressor"]


class MultiTaskLinearRegressor(RegressorMixin, MultiTaskLinearBase):
    r"""Linear regression of many tasks, each with its own rows and coefficients.

    Minimised is

    .. math:: \sum_t \frac{1}{2 n_t} \sum_{i \in t} (y_i - x_i \cdot w_t - b_t)^2
        + \alpha\, \Omega(W),

    where :math:`n_t` is the number (or weight) of the rows of task t, and the
    intercepts :math:`b_t` are free. The penalty :math:`\Omega` says how the tasks'
    coefficients are related:

    ================= ===============================================================
    `penalty`         :math:`\Omega(W)`
    ================= ===============================================================
    ``l21``           :math:`\sum_j |W_j|_2` over features j: the same features for
                      all tasks
    ``trace``         the sum of the singular values: few directions for all tasks
    ``graph``         :math:`\frac12 \sum_{s<t} a_{st} |w_s - w_t|^2 + \frac r2 |W|^2`
                      for links :math:`a_{st}` that `graph` gives
    ``clustered``     a price of 1 for departures of clusters from the mean of tasks,
                      of `within_penalty` for those of tasks from their clusters, and
                      of r for the mean; convex, the clusters are found
    ``covariance``    :math:`\frac12 \mathrm{tr}(W^T \Omega^{-1} W) + \frac r2 |W|^2`,
                      where the covariance of tasks, of trace 1, is learned too
    ``shared_sparse`` :math:`\sum_j |S_j|_2 + \rho \sum |O_{tj}|` with W = S + O: some
                      features for all tasks, and some for single ones
    ================= ===============================================================

    r is `ridge`, :math:`\rho` is `own_penalty`.

    Parameters
    ----------
    penalty : str, default="l21"
        How the tasks are related: "l21", "trace", "graph", "clustered", "covariance" or
        "shared_sparse".
    alpha : float or "auto", default="auto"
        Factor of the penalty. "auto" takes that of a path (`alphas`) with the least
        error of rows held out, in folds that have their fraction of every task.
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
        of tasks, which may be 10,000 at the most.
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
    tol : float, default=1e-5
        The duality gap to stop at, as a fraction of the loss without features.
    max_iter : int, default=10000
        Limit of iterations for each alpha: sets of features, or proximal steps.

    Attributes
    ----------
    coef_ : ndarray of shape (n_tasks, n_features)
        Coefficients of each task.
    intercept_ : ndarray of shape (n_tasks,)
        Intercepts.
    common_coef_, common_intercept_ : ndarray of shape (n_features,), float
        Their means, by which unknown tasks are predicted.
    alpha_ : float
        The factor that was chosen or given.
    alphas_ : ndarray of shape (n_alphas,)
        The path, descending; of ``alpha="auto"``.
    path_losses_ : ndarray of shape (n_alphas, n_folds)
        Half the mean squared error of rows held out, for each alpha.
    dual_gap_ : float
        By how much the objective is above its least value, at most.
    objective_ : float
        The objective.
    n_iter_ : int
        Iterations for the last alpha.
    selected_features_ : ndarray
        Numbers of the features with a coefficient other than 0 in some task.
    shared_coef_, own_coef_ : ndarray of shape (n_tasks, n_features)
        The two parts of `coef_`; of "shared_sparse".
    clusters_ : ndarray of shape (n_tasks,)
        Cluster of each task; of "clustered".
    task_covariance_, task_correlation_, task_affinity_ : ndarray
        Relations of the tasks' coefficients, of shape (n_tasks, n_tasks).
    scale_ : ndarray of shape (n_features,)
        What features were divided by.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    MultiTaskLinearClassifier : The same for classes.

    Notes
    -----
    All six problems are convex, and the solvers stop by a duality gap. "l21" and
    "shared_sparse" are solved by exact descent over the features' blocks, in working
    sets; the others by accelerated proximal steps.

    Where this and the papers differ:

    - "shared_sparse" takes the length of a shared block, not its largest absolute
      coefficient [5]_: a feature that matters more to some tasks than to others is
      then not made even.
    - "covariance": the least of :math:`\mathrm{tr}(W^T \Omega^{-1} W)` over
      :math:`\Omega` is the squared sum of singular values, so that the coefficients
      are found without :math:`\Omega`, exactly, where [4]_ alternates.
    - "clustered" finds the clusters of [3]_ from the coefficients by k-means: the
      relaxed problem has no partition of its own.
    - Tasks have the same weight whatever their numbers of rows; [1]_, [2]_ and [4]_ sum
      over rows, or have tasks of one size.

    References
    ----------
    .. [1] G. Obozinski, B. Taskar, M. Jordan. Joint covariate selection and joint
       subspace selection for multiple classification problems. Statistics and
       Computing, 2010.
    .. [2] T. K. Pong, P. Tseng, S. Ji, J. Ye. Trace norm regularization:
       reformulations, algorithms, and multi-task learning. SIAM Journal on
       Optimization, 2010.
    .. [3] L. Jacob, F. Bach, J.-P. Vert. Clustered multi-task learning: a convex
       formulation. NIPS 2008.
    .. [4] Y. Zhang, D.-Y. Yeung. A convex formulation for learning task relationships
       in multi-task learning. UAI 2010.
    .. [5] A. Jalali, P. Ravikumar, S. Sanghavi, C. Ruan. A dirty model for multi-task
       learning. NIPS 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.linear import MultiTaskLinearRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(120, 8)), np.arange(120) % 4
    >>> y = X[:, 2] * np.array([1, 2, -1, 3])[task] + rng.normal(size=120) / 5
    >>> model = MultiTaskLinearRegressor("l21", alpha=0.5, task=-1)
    >>> model = model.fit(np.c_[X, task], y)
    >>> model.selected_features_
    array([2])
    >>> model.coef_[:, 2].round(1)
    array([ 0.8,  1.7, -0.8,  2.1])
    """

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> TaskData:
        return self._fit_data(X, y, sample_weight, labels="numbers")

    def _outputs(
        self, data: TaskData, rows: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        return np.ones(data.n_tasks, dtype=np.intp), np.zeros(data.n_tasks)

    def _loss(self, layout: Layout, y: np.ndarray, weight: np.ndarray) -> Loss:
        # about the tasks' means, so that large ones leave digits for what is to learn
        level = np.bincount(layout.row_task, weight * y, minlength=layout.n_tasks)
        rest = y - level[layout.row_task]
        rest[np.abs(rest) <= 1e-14 * np.abs(level)[layout.row_task]] = 0.0
        self._level = level
        return SquaredLoss(layout, rest, weight)

    def _in_units(
        self, found: Solution, mean: np.ndarray, scale: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        coef, intercept = super()._in_units(found, mean, scale)
        return coef, intercept + self._level

    def _spread(self, values: np.ndarray) -> np.ndarray:
        return values

    def _common(self, tasks: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        return self.coef_[tasks].mean(axis=0), self.intercept_[tasks].mean(axis=0)

    def _with_classes(self, coef: np.ndarray) -> np.ndarray:
        return coef[None]

    @property
    def common_coef_(self) -> np.ndarray:
        """Mean coefficients of the tasks."""
        return self._common()[0]

    @property
    def common_intercept_(self) -> float:
        """Mean intercept of the tasks."""
        return float(self._common()[1])

    def _fit_added(
        self, prior: TaskPrior, rows: Any, Z: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        found, level = fit_later_numbers(prior, Z, rows.y, rows.sample_weight)
        return found, np.asarray(level)

    def predict(self, X: Table) -> np.ndarray:
        """Predictions by the rows' tasks.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        rows = self._predict_data(X)
        return self._scores(rows.X, rows.task)
