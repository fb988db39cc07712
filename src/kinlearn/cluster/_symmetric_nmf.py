"""Multi-task clustering by symmetric NMF (Al-Stouhi 2013, chapter 6)."""

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kinlearn.cluster._affinity import (
    Affinity,
    build_affinity,
    cross_product_by_task,
    explicit_affinity,
)
from kinlearn.cluster._multiplicative import multiply, penalised
from kinlearn.cluster._rows import (
    canonical_order,
    check_fractions,
    check_lambdas,
    check_rows,
    refuse_texts,
)
from kinlearn.cluster._solver import (
    LARGE_RESIDUAL,
    Problem,
    Solution,
    fold_in,
    solve_starts,
)
from kinlearn.tasks import TaskMixin
from kinlearn.utils import group_rows
from kinlearn.utils._callbacks import CallbackSupportMixin, with_callbacks
from kinlearn.utils._loaded import (
    check_below,
    check_finite,
    check_numbers,
    check_vectors,
)
from kinlearn.utils._sklearn import Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, RandomState, Table, TaskColumn

__all__ = ["MultiTaskSymmetricNMF"]

_MOST_TASKS = 5_000


class MultiTaskSymmetricNMF(
    CallbackSupportMixin, TaskMixin, ClusterMixin, BaseEstimator
):
    r"""Cluster related collections together, each into the same number of clusters.

    Rows are compared within their task and, with less weight, across tasks. The
    affinity is factored as V V' with non-negative V, one column for each cluster, and
    a penalty drives every task to hold all clusters. So documents of a small collection
    are grouped with the help of the others, yet no cluster is a whole collection.

    Parameters
    ----------
    n_clusters : int, default=2
        Clusters in every task.
    task : str, int or None, default=None
        Name or position of the task column; None is one collection.
    affinity : {"shared", "cosine", "rbf", "precomputed"}, default="shared"
        How alike two rows are:

        - ``"shared"``: the sum of both rows' values over the features that both have,
          for term weights such as TF-IDF (the thesis's affinity);
        - ``"cosine"``: the cosine of the angle between them, for non-negative data;
        - ``"rbf"``: ``exp(-gamma |x - y|^2)``, for dense data of any sign;
        - ``"precomputed"``: X is the affinity, a column for each row, besides the task.
    lambda_intra : float, default=1.0
        Weight of pairs of rows of the same task, up to 1e6, as `lambda_inter`; only
        the ratio of the two matters.
    lambda_inter : float or array of shape (n_tasks, n_tasks), default=0.1
        Weight of pairs of rows of different tasks: one number, or one for each pair of
        ``tasks_`` (the diagonal is not used). 0 clusters each task alone.
    weighting : {"loss", "affinity"}, default="loss"
        What these weights multiply: the loss of a pair, or, as in the thesis, its
        affinity. See Notes.
    balance : float, default=1.0
        Penalty on unequal shares of the clusters in a task, in units of the task's
        mean affinity. 0 is plain symmetric NMF. For ``solver="multiplicative"`` the
        fraction, up to 1, of the greatest penalty that an update can have.
    shares : array of shape (n_clusters,) or (n_tasks, n_clusters), default=None
        Shares of the clusters that the penalty aims at; None is equal shares.
    normalize : bool, default=True
        Whether to divide the affinity by the roots of both rows' degrees. Which is
        better differs from data to data; see Notes.
    solver : {"coordinates", "multiplicative"}, default="coordinates"
        "coordinates" sets one entry of V after another to its exact minimum;
        "multiplicative" takes the thesis's updates, with a penalty that adapts in
        every step. As printed are ``solver="multiplicative", normalize=False,
        weighting="affinity"``.
    gamma : float, default=None
        Of ``affinity="rbf"``; None is one over the number of features.
    n_init : int, default=5
        Random starts; the one with the lowest objective is kept.
    max_iter : int, default=500
        Most sweeps over the rows in one descent. A start makes one, and one more
        after each renaming of the clusters of tasks; the check of the best start's
        minimum may add some, so that ``n_iter_`` can be larger.
    tol : float, default=1e-5
        A descent ends when a sweep lowers the objective by less than this fraction of
        what it is for V = 0. Rows between two clusters may still change sides then: of
        the labels of noisy data, a few in a hundred depend on `tol`, and sometimes
        more. Where single rows matter, or two fits are compared row by row (such as
        ``lambda_inter=0`` with a fit to each task alone), take 1e-10 or less and a
        larger `max_iter`.
    store_affinity : bool, default=False
        Whether to keep the affinity as ``affinity_``.
    n_jobs : int, default=None
        Threads for the starts; None is 1. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Decides the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, 0 to ``n_clusters - 1``; -1 for a row that has nothing in
        common with any other.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        V: how strongly each row belongs to each cluster; float64 for float32 X too.
    objective_ : float
        Objective of V.
    objectives_ : ndarray of shape (n_init,)
        Objective that each start came to.
    n_iter_ : int
        Sweeps of the best start, with those that renaming clusters and the check of
        the minimum added.
    optimality_ : float
        Norm of the objective's projected gradient at V, relative to that of 2 W V.
        With "multiplicative" the penalty counts with its last weight, and the norm
        need not be small.
    affinity_ : ndarray or sparse array of shape (n_samples, n_samples)
        Weighted, and with `normalize` normalised, affinity W, of X's own float type;
        only with ``store_affinity=True``.
    row_tasks_ : ndarray of shape (n_samples,)
        Position in ``tasks_`` of each row's task.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    sklearn.cluster.SpectralClustering : Clusters of one affinity, without tasks.

    Notes
    -----
    The objective is

    .. math::

        \frac12 \sum_{t,s} \lambda_{ts} \|A_{ts} - V_t V_s'\|^2
        + \sum_t \alpha_t \sum_{a<b} (\frac{S_{ta}}{p_{ta}}
        - \frac{S_{tb}}{p_{tb}})^2

    with A the affinity, S the sums of V over the rows of a task, p the shares (equal
    ones are 1; more than two clusters: times 2/k; with `normalize` their roots, as
    sums of V then grow with the root of the number of rows), and alpha `balance`
    times the mean affinity within the task.

    Where this differs from the thesis [1]_:

    - There the weights multiply the affinity: :math:`\|\lambda_{ts} A_{ts} - V_t
      V_s'\|^2`. A small weight then means that rows of different tasks are *unlike*,
      which drives tasks into different clusters; as the weight of a loss it means that
      their pairs matter less. ``weighting="affinity"`` is the thesis's form. In either,
      pairs of tasks of weight 0 are left out, so that tasks are clustered alone.
    - There alpha changes in every step, to the greatest value that keeps a
      multiplicative update non-negative, as with ``solver="multiplicative"``. With
      "coordinates" it is fixed, so there is one objective, and it never rises. With
      "multiplicative" `objective_` is the loss without the penalty, and may rise.
    - There V is updated by a multiplicative rule. With "coordinates" one entry after
      another is set to its exact minimum, the root of a cubic. It needs fewer passes
      and ends lower.
      When the sweeps end, the clusters of a task are renamed where that lowers the
      objective, and the sweeps go on: else a small weight between tasks would leave
      the same cluster with different names in different tasks.
    - There the affinity is not normalised. On 15 kinds of collections the two are
      level (0.1 points of accuracy apart in the mean, standard error 0.5), and single
      ones differ by up to 3.5 points: unnormalised is better on web pages of two equal
      classes, normalised on product reviews, and where classes are of unequal size.
    - The V of "coordinates" is checked to be a minimum: if the objective bends down in
      some direction (searched by Lanczos' method), it is followed, and the sweeps go
      on.
    - More than two clusters and given shares are ours. The penalty takes all pairs of
      clusters; the thesis compares each with the first.

    With ``"shared"`` and ``"cosine"`` on sparse X the affinity is never made: time and
    memory grow with the entries of X, not with the square of the rows; with that of the
    tasks they do, and more than 5,000 are refused. Tasks with fewer
    rows than clusters have no penalty. The partition depends neither on the order of
    the rows nor on the names of the tasks, but for equal rows of a task, and for rows
    of a precomputed affinity that nothing distinguishes.

    References
    ----------
    .. [1] S. Al-Stouhi. Learning with an Insufficient Supply of Data via Knowledge
       Transfer and Sharing. Dissertation, Wayne State University, 2013.

    Examples
    --------
    >>> from kinlearn.cluster import MultiTaskSymmetricNMF
    >>> from kinlearn.datasets import make_term_tasks
    >>> from kinlearn.metrics import clustering_accuracy_score
    >>> X, y = make_term_tasks(
    ...     4, n_samples_per_class=20, shared=0.5, random_state=0
    ... )  # the last column is the task
    >>> model = MultiTaskSymmetricNMF(2, task=-1, random_state=0).fit(X)
    >>> clustering_accuracy_score(y, model.labels_)
    1.0
    """

    _parameter_constraints: dict = {
        "task": TaskMixin._task_parameter_constraints["task"],
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "affinity": [StrOptions({"shared", "cosine", "rbf", "precomputed"})],
        "lambda_intra": [Interval(Real, 0, None, closed="left")],
        "lambda_inter": [
            Interval(Real, 0, None, closed="left"),
            "array-like",
        ],
        "weighting": [StrOptions({"loss", "affinity"})],
        "balance": [Interval(Real, 0, None, closed="left")],
        "shares": ["array-like", None],
        "normalize": ["boolean"],
        "solver": [StrOptions({"coordinates", "multiplicative"})],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "store_affinity": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        task: TaskColumn = None,
        affinity: Literal["shared", "cosine", "rbf", "precomputed"] = "shared",
        lambda_intra: float = 1.0,
        lambda_inter: float | ArrayLike = 0.1,
        weighting: Literal["loss", "affinity"] = "loss",
        balance: float = 1.0,
        shares: ArrayLike | None = None,
        normalize: bool = True,
        solver: Literal["coordinates", "multiplicative"] = "coordinates",
        gamma: float | None = None,
        n_init: int = 5,
        max_iter: int = 500,
        tol: float = 1e-5,
        store_affinity: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.task = task
        self.affinity = affinity
        self.lambda_intra = lambda_intra
        self.lambda_inter = lambda_inter
        self.weighting = weighting
        self.balance = balance
        self.shares = shares
        self.normalize = normalize
        self.solver = solver
        self.gamma = gamma
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.store_affinity = store_affinity
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Table, y: Any = None) -> Self:
        """Cluster the rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : ignored
            Not used.

        Returns
        -------
        self
            The fitted clusterer.
        """
        self._validate_params()
        multiplicative = self.solver == "multiplicative"
        if multiplicative and self.balance > 1:
            raise ValueError(
                'With solver="multiplicative" balance is a fraction of the greatest '
                f"penalty that an update can have, from 0 to 1; got {self.balance!r}. "
                'Lower it, or set solver="coordinates".'
            )
        refuse_texts(X)
        data = self._fit_data(X)
        if len(data.tasks) > _MOST_TASKS:
            raise ValueError(
                f"MultiTaskSymmetricNMF is for up to {_MOST_TASKS:,} tasks; here are "
                f"{len(data.tasks):,}. Its time and memory grow with their square: "
                "join small collections to larger ones."
            )
        rows = check_rows(data.X, self.affinity, self.feature_names_, fitting=True)
        if data.n_samples < self.n_clusters:
            raise ValueError(
                f"n_samples={data.n_samples} should be >= n_clusters="
                f"{self.n_clusters}. Set a lower n_clusters."
            )
        shares = check_fractions(self.shares, self.n_clusters, data.tasks)
        pairwise = self.affinity == "precomputed"
        order = canonical_order(rows, data.task, pairwise=pairwise)
        random = check_random_state(self.random_state)
        seeds = np.random.SeedSequence(int(random.randint(np.iinfo(np.int32).max)))
        n_jobs = effective_n_jobs(self.n_jobs)

        n_columns = rows.shape[1]
        self._gamma = 1.0 / max(n_columns, 1) if self.gamma is None else self.gamma
        lambdas = check_lambdas(self.lambda_inter, self.lambda_intra, data.tasks)
        problem, scale, shares = self._problem(rows, data.task, order, lambdas, shares)
        progress = self._init_callback_context(max_subtasks=self.n_init)
        progress.call_on_fit_task_begin(estimator=self, X=X, y=y)
        solutions = []
        settings: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        descend = partial(problem.settle, **settings)
        if multiplicative:
            balance = float(self.balance)
            descend = partial(
                multiply, problem, shares=shares, balance=balance, **settings
            )
        # the first seed is of no start
        starts = solve_starts(
            problem, seeds.spawn(1 + self.n_init)[1:], n_jobs=n_jobs, descend=descend
        )
        for i, solution in enumerate(starts):
            step = progress.subcontext(task_name=f"start {i}")
            step.call_on_fit_task_begin(estimator=self)
            solutions.append(solution)
            step.call_on_fit_task_end(estimator=self)
        best = problem.best(solutions)
        if multiplicative:
            problem = penalised(problem, best.V, shares, balance)
        else:
            best = problem.polish(best, np.random.default_rng(0), **settings)
        self._warn_unless_converged(best, problem.residual(best.V))
        self.objectives_ = np.array([each.objective.sum() for each in solutions])
        self._keep(problem, best, rows, scale, lambdas)
        progress.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _warn_unless_converged(self, best: Solution, residual: float) -> None:
        near = residual <= LARGE_RESIDUAL or self.solver == "multiplicative"
        if best.converged and near:
            return
        if best.converged:
            found = (
                f"ended far from a minimum: optimality_ is {residual:.2g}, and should "
                f"be below {LARGE_RESIDUAL:g}. Lower tol, or balance"
            )
        else:
            found = (
                f"still improved after max_iter={self.max_iter} sweeps. Raise max_iter "
                "or tol"
            )
        warnings.warn(
            f"The best of {self.n_init} starts {found}.",
            ConvergenceWarning,
            stacklevel=4,  # past `fit` and what wraps it for callbacks
        )

    def _keep(
        self,
        problem: Problem,
        best: Solution,
        rows: Any,
        scale: np.ndarray,
        lambdas: np.ndarray,
    ) -> None:
        """Set the fitted attributes."""
        self.embedding_ = best.V
        self.objective_ = float(best.objective.sum())
        self.n_iter_ = best.n_iter
        self.optimality_ = problem.residual(best.V)
        self.labels_ = _labels(best.V, problem.affinity.product(best.V))
        self.row_tasks_ = problem.task
        # for new rows: what they are compared with, and the weights of that
        self._rows = None if self.affinity == "precomputed" else rows
        self._scale = scale
        self._lambdas = lambdas
        self._grams = problem.mixed_grams(best.V)
        if self.store_affinity and isinstance(problem.affinity, Affinity):
            self.affinity_ = problem.affinity.W
        elif self.store_affinity:
            W = explicit_affinity(
                rows, self.affinity, self._gamma, problem.task, lambdas
            )
            self.affinity_ = Affinity(W, problem.task).scaled(scale).W
        elif hasattr(self, "affinity_"):
            del self.affinity_

    def _problem(
        self,
        rows: Any,
        task: np.ndarray,
        order: np.ndarray,
        lambdas: np.ndarray,
        shares: np.ndarray,
    ) -> tuple[Problem, np.ndarray, np.ndarray]:
        """The objective, the scale of the affinity's rows, and the shares of sums."""
        affinity, scale = build_affinity(
            rows,
            self.affinity,
            self._gamma,
            np.ascontiguousarray(task),
            lambdas,
            normalize=self.normalize,
            n_clusters=self.n_clusters,
        )
        if self.weighting == "loss":
            weight = lambdas
        else:
            weight = (lambdas > 0).astype(np.float64)
        if self.normalize:
            # V is about 1 / sqrt(m) in a cluster of m rows, so its sum is sqrt(m)
            shares = np.sqrt(shares)
            shares = shares / shares.sum(axis=1, keepdims=True)
        balance = 0.0 if self.solver == "multiplicative" else self.balance
        return Problem.build(affinity, order, weight, balance, shares), scale, shares

    def _check_arrays(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        n, k = self.embedding_.shape
        check_numbers("embedding_", self.embedding_, np.float64, (n, k))
        check_finite("embedding_", self.embedding_)
        check_numbers("labels_", self.labels_, "i", (n,))
        check_below("labels_", self.labels_, k, -1)
        check_numbers("row_tasks_", self.row_tasks_, "i", (n,))
        check_below("row_tasks_", self.row_tasks_, n_tasks)
        if self._rows is not None:
            check_vectors("rows", self._rows, n, n_features)
        check_numbers("scale", self._scale, np.float64, (n,))
        check_numbers("lambdas", self._lambdas, np.float64, (n_tasks, n_tasks))
        check_numbers("grams", self._grams, np.float64, (n_tasks, k, k))
        for name in ("_scale", "_lambdas", "_grams"):
            check_finite(name, getattr(self, name))

    def predict(self, X: Table) -> np.ndarray:
        """Clusters of new rows of known tasks, with V as it is.

        A new row gets the non-negative v that best explains its affinity to the rows
        of `fit`; its largest entry is the cluster. The penalty on unequal shares has
        no part in it: it would make the prediction for a row depend on the rows that
        come with it. So rows of `fit` that lie between two clusters can get another
        label here than in ``labels_``: up to one in twenty of noisy data, and one in
        ten where `shares` are far from equal.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column; for ``affinity="precomputed"``, the affinity of
            each to the rows of `fit`.

        Returns
        -------
        int64 array of shape (n_samples,)
            Clusters; -1 for a row that has nothing in common with the rows of `fit`.
        """
        refuse_texts(X)
        new = self._predict_data(X)
        rows = check_rows(new.X, self.affinity, self.feature_names_, fitting=False)
        pull = cross_product_by_task(
            rows,
            self._rows,
            self.affinity,
            self._gamma,
            self._scale[:, None] * self.embedding_,
            new_task=new.task,
            task=self.row_tasks_,
            lambdas=self._lambdas,
        )
        out = np.empty(new.n_samples, dtype=np.int64)
        starts, order = group_rows(new.task, len(self.tasks_))
        for t in np.unique(new.task):
            mine = order[starts[t] : starts[t + 1]]
            out[mine] = _labels(fold_in(self._grams[t], pull[mine]), pull[mine])
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.affinity != "rbf"
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags


def _labels(V: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """The largest entry of each row, by affinity alone where V is zero."""
    labels = V.argmax(axis=1)
    empty = V.max(axis=1) <= 0
    labels[empty] = np.where(
        pull[empty].max(axis=1, initial=0.0) > 0, pull[empty].argmax(axis=1), -1
    )
    return labels.astype(np.int64)
