"""The one function for all distances between tasks, and the matrix it returns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from kinlearn.relatedness._joint import logdet, mmd, proxy_a
from kinlearn.relatedness._marginals import (
    directed_kl,
    hellinger,
    ks,
    label_shift,
    mutual_information,
    symmetric_kl,
)
from kinlearn.tasks import check_task_data, task_codes
from kinlearn.utils import import_optional
from kinlearn.utils._typing import ArrayLike, RandomState, Table, TaskColumn

__all__ = ["TaskDistances", "task_distances"]

_METHODS: dict[str, Callable] = {
    "hellinger": hellinger,
    "kl": symmetric_kl,
    "kl_directed": directed_kl,
    "ks": ks,
    "label_shift": label_shift,
    "logdet": logdet,
    "mmd": mmd,
    "mutual_information": mutual_information,
    "proxy_a": proxy_a,
}
_SKIP_NAN = ("hellinger", "kl", "kl_directed", "ks", "mutual_information")
_DIRECTED = ("kl_directed",)
_MAX_TASKS = 10_000
_SHOWN_TASKS = 8
# scipy's optimal order takes 0.5 s for 1,000 tasks and grows with the cube
_OPTIMAL_ORDER_TASKS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class TaskDistances:
    """Distances between tasks: a matrix that knows its tasks.

    Parameters
    ----------
    values : array-like of shape (n_tasks, n_tasks)
        Non-negative and finite, with zeros on the diagonal, and symmetric unless
        `directed`. A read-only copy is kept.
    tasks : array-like of shape (n_tasks,)
        The tasks' names, all different.
    method : str
        What was measured.
    directed : bool, default=False
        Whether the way back may be longer: rows are where it begins.

    See Also
    --------
    task_distances : Measure them.

    Examples
    --------
    >>> from kinlearn.relatedness import TaskDistances
    >>> values = [[0.0, 0.1, 0.7], [0.1, 0.0, 0.4], [0.7, 0.4, 0.0]]
    >>> distances = TaskDistances(values, ["a", "b", "c"], method="ks")
    >>> distances
    TaskDistances(method='ks', n_tasks=3)
             a    b    c
        a    0  0.1  0.7
        b  0.1    0  0.4
        c  0.7  0.4    0
    >>> distances["a", "c"]
    0.7
    >>> distances.nearest("c").tolist()
    ['b', 'a']
    """

    values: np.ndarray
    tasks: np.ndarray
    method: str
    directed: bool = False
    _place: dict = field(init=False)

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        tasks = np.array(self.tasks)
        if tasks.dtype.kind in "UT":
            tasks = tasks.astype(object)
        if tasks.ndim != 1 or not tasks.size or values.shape != (tasks.size,) * 2:
            raise ValueError(
                "values must be a square matrix with a row for each task; got shape "
                f"{values.shape} and tasks of shape {tasks.shape}."
            )
        if not np.isfinite(values).all() or (values < 0).any():
            raise ValueError(
                "Distances must be finite and not negative; values holds "
                f"{np.isnan(values).sum()} NaN, {np.isinf(values).sum()} infinite and "
                f"{(values < 0).sum()} negative entries."
            )
        symmetric = self.directed or np.allclose(values, values.T, atol=0)
        if values.diagonal().any() or not symmetric:
            raise ValueError(
                "values must be symmetric with zeros on its diagonal. For an "
                "affinity A, pass a distance such as A.max() - A; for distances that "
                "differ by direction set directed=True."
            )
        place = {task: t for t, task in enumerate(tasks.tolist())}
        if len(place) < len(tasks):
            raise ValueError("Task names must all be different.")
        values.flags.writeable = False
        tasks.flags.writeable = False
        for name, value in (("values", values), ("tasks", tasks), ("_place", place)):
            object.__setattr__(self, name, value)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.tasks)

    def _code(self, task: Any) -> int:
        try:
            return self._place[task]
        except (KeyError, TypeError):
            known = ", ".join(map(repr, list(self._place)[:5]))
            more = ", ..." if self.n_tasks > 5 else ""
            raise KeyError(
                f"No task {task!r} here; the tasks are {known}{more}"
            ) from None

    def __getitem__(self, pair: tuple[Any, Any]) -> float:
        """Distance from one task to another; in any order unless `directed`."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                f"Name two tasks, as in distances['a', 'b']; got {pair!r}. The whole "
                "matrix is distances.values."
            )
        return float(self.values[self._code(pair[0]), self._code(pair[1])])

    def nearest(self, task: Any, n: int | None = None) -> np.ndarray:
        """The other tasks, nearest first.

        Parameters
        ----------
        task : str or int
            A task's name.
        n : int, default=None
            How many to name at the most; None names all.

        Returns
        -------
        ndarray
            Task names; equally near ones stand in the order of `tasks`.
        """
        code = self._code(task)
        order = np.argsort(self.values[code], kind="stable")
        return self.tasks[order[order != code][:n]]

    def order(self) -> np.ndarray:
        """Order of the tasks in which similar ones are neighbours.

        The leaves of an average-linkage clustering, for directed distances by the mean
        of both ways; up to 1,000 tasks they are turned so that neighbours are as near
        as the tree allows.

        Returns
        -------
        intp array of shape (n_tasks,)
            Positions in `tasks`, so that ``values[order][:, order]`` shows the
            clusters as blocks on the diagonal.
        """
        if self.n_tasks < 3:
            return np.arange(self.n_tasks)
        tree = linkage(
            squareform(0.5 * (self.values + self.values.T), checks=False),
            method="average",
            optimal_ordering=self.n_tasks <= _OPTIMAL_ORDER_TASKS,
        )
        return leaves_list(tree).astype(np.intp)

    def to_frame(self) -> Any:
        """The matrix as a pandas DataFrame, tasks on both axes.

        Returns
        -------
        pandas.DataFrame
            A copy; needs pandas.
        """
        pd = import_optional("pandas", extra="report", purpose="to_frame()")
        index = pd.Index(self.tasks, name="task")
        return pd.DataFrame(self.values.copy(), index=index, columns=index)

    def __repr__(self) -> str:
        shown = slice(_SHOWN_TASKS)
        names = [str(task)[:12] for task in self.tasks[shown].tolist()]
        table = [["", *names]]
        for name, row in zip(names, self.values[shown, shown], strict=True):
            table.append([name, *(f"{distance:.3g}" for distance in row)])
        if self.n_tasks > _SHOWN_TASKS:
            table = [[*row, "..."] for row in table] + [["..."] * (len(names) + 2)]
        width = max(len(cell) for row in table for cell in row)
        lines = ["  ".join(f"{cell:>{width}}" for cell in row) for row in table]
        head = f"TaskDistances(method={self.method!r}, n_tasks={self.n_tasks})"
        return "\n".join([head, *(f"  {line}" for line in lines)])


def _check_options(method: str, options: dict[str, Any]) -> None:
    """Refuse options that the method does not have, rather than ignore them."""
    parameters = signature(_METHODS[method]).parameters.values()
    known = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    known -= {"n_jobs", "random_state"}
    unknown = sorted(set(options) - known)
    if unknown:
        raise TypeError(
            f"method={method!r} has no option {', '.join(map(repr, unknown))}; its "
            f"options are {', '.join(map(repr, sorted(known)))}."
        )


def _check_n_tasks(n_tasks: int) -> None:
    if n_tasks > _MAX_TASKS:
        raise ValueError(
            f"Found {n_tasks} tasks; a matrix of all their pairs would take "
            f"{8 * n_tasks**2 / 1e9:.1f} GB. At most {_MAX_TASKS} are taken: pick a "
            "part of the tasks, or check that `task` names the right column."
        )


def task_distances(
    X: Table,
    y: ArrayLike | None = None,
    *,
    task: TaskColumn,
    method: str = "mmd",
    n_jobs: int | None = None,
    random_state: RandomState = None,
    **options: Any,
) -> TaskDistances:
    """Distances between the tasks of a data set.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Features, with the task column among them. For "label_shift" only the
        task column is read.
    y : array-like of shape (n_samples,), default=None
        Classes or numbers. Read by "label_shift" only; the other methods compare
        features.
    task : str, int or None
        Name or position of the task column; None is one task.
    method : str, default="mmd"
        What to measure:

        - "mmd": maximum mean discrepancy with an RBF kernel. Sees any difference
          of the joint distributions.
        - "ks": Kolmogorov-Smirnov statistic between the marginals of a feature,
          in 0 .. 1. Does not depend on the features' units, nor on any monotone
          transform of them.
        - "kl": symmetric Kullback-Leibler (Jeffreys) divergence between binned
          marginals, the sum of both directions.
        - "kl_directed": each direction by itself: the row's task is the truth, and
          the distance what is lost when the column's task stands in for it. Large
          where the row's task has rows that the column's task lacks.
        - "mutual_information": what a binned feature tells about which of the two
          tasks a row is of, in 0 .. 1 bits; both tasks count the same.
        - "hellinger": Hellinger distance between binned marginals, in 0 .. 1.
        - "proxy_a": proxy A-distance 2 (1 - 2 err), in 0 .. 2, where err is the
          balanced cross-validated error of a linear classifier that
          separates the two tasks.
        - "logdet": LogDet divergence (Stein's loss) between the covariances of
          the features, the mean of both directions. Sees how features vary and
          go together, not where they lie.
        - "label_shift": distance between the distributions of y.
    n_jobs : int, default=None
        Workers of "proxy_a", and threads of "ks" and of Wasserstein distances.
        The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Draws the folds of "proxy_a"; for "mmd", the random frequencies and, of
        more than 2,000 rows, the sample for the kernel's width.
    **options
        Options of the method:

        - aggregate : {"mean", "max"}, default="mean". How "ks", "kl",
          "kl_directed", "mutual_information" and "hellinger" make one number of all
          features.
        - n_bins : int, default=20. Bins of a feature at the most, for "hellinger",
          "mutual_information" and both "kl". They are cut at quantiles of all tasks
          together, each task with the same weight; a feature with few distinct
          values gets a bin for each.
        - smoothing : float, default=0.5. Rows that both "kl" add to every bin.
        - shrinkage : float, default=0.1. How far "logdet" takes covariances towards
          the unit matrix, so that those of few rows have an inverse. With
          ``scale=False`` this depends on the features' units.
        - gamma : float, default=None. Of the kernel of "mmd",
          ``exp(-gamma * ||x - x'||**2)``. None is the median heuristic,
          ``1 / (2 m**2)`` with the median distance m between two rows.
        - biased : bool, default=False. Whether "mmd" compares a row with itself
          too; then even a task of one row has distances, but small tasks look
          far away.
        - estimate : {"auto", "exact", "fourier"}, default="auto". Whether "mmd"
          takes the mean over all pairs of rows, or over random Fourier features,
          in time linear in the rows. "auto" is exact up to 10,000 rows.
        - n_components : int, default=1000. Number of random frequencies.
        - scale : bool, default=True. Whether "mmd", "proxy_a" and "logdet" scale
          the features to unit variance first.
        - estimator : classifier, default=None. Of "proxy_a"; None is a linear
          SVM with balanced classes.
        - cv : int, default=5. Number of folds of "proxy_a".
        - distance : str, default="auto". Of "label_shift": "total_variation" or
          "hellinger" of the class frequencies; for a numeric y "wasserstein", in
          units of y, or "mean_difference", in standard deviations of y within
          the tasks. "auto" is "wasserstein" where y has fractions, else
          "total_variation".

    Returns
    -------
    TaskDistances
        Matrix with the tasks' names; symmetric, but for "kl_directed".

    See Also
    --------
    kinlearn.report.TaskDistanceDisplay : Draw it.

    Notes
    -----
    "kl", "kl_directed" and "logdet" are divergences and "proxy_a" an error rate: none
    obeys the triangle inequality; nor does "mutual_information", though its root does.

    Missing values are left out of their marginal by "ks", "hellinger",
    "mutual_information" and both "kl". A feature of which a task has no value at all is
    left out of this task's pairs. "mmd", "proxy_a" and "logdet" compare whole rows and
    refuse NaN.

    Small samples differ by chance, so tasks of few rows look far from
    everything, by "kl" more than by the others. Only the unbiased "mmd" and
    "proxy_a" correct for it: their expectation does not grow when rows get few.
    The squared MMD may then come out negative by chance; its root is given as 0.

    At most 10,000 tasks are taken. All methods hold a few matrices of this size
    and no copy of a dense X (except that the exact "mmd" and "proxy_a" hold a
    scaled one, and "logdet" the covariances of all tasks and their inverses: at most
    100 million numbers each). "logdet" and "proxy_a" need two rows of each task, and
    so does the unbiased "mmd". "ks", "kl" and "hellinger" take sparse X a column at a
    time.

    The linear-time estimate is the expectation over random frequencies of [2]_,
    with one draw for all pairs, instead of the statistic of section 6 in [1]_:
    that one uses every row once and its error hides all but large distances,
    while this error is relative, about ``1 / sqrt(n_components)``.

    The proxy A-distance of [3]_ takes the plain error. The balanced one is used
    here, because two equal tasks of 10 and 90 rows would otherwise be 1.6 apart.

    References
    ----------
    .. [1] Gretton, Borgwardt, Rasch, Schoelkopf & Smola (2012), "A kernel
       two-sample test", JMLR 13.
    .. [2] Rahimi & Recht (2007), "Random features for large-scale kernel
       machines", NeurIPS.
    .. [3] Ben-David, Blitzer, Crammer & Pereira (2006), "Analysis of
       representations for domain adaptation", NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn import with_task
    >>> from kinlearn.relatedness import task_distances
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0], [2.0], [3.0], [8.0], [9.0]])
    >>> X = with_task(X, [0, 0, 0, 0, 1, 1, 2, 2])
    >>> distances = task_distances(X, task=-1, method="ks")
    >>> distances
    TaskDistances(method='ks', n_tasks=3)
               0     1     2
         0     0  0.25     1
         1  0.25     0     1
         2     1     1     0
    >>> distances[0, 1]
    0.25
    """
    if method not in _METHODS:
        raise ValueError(
            f"method must be one of {', '.join(map(repr, _METHODS))}; got {method!r}."
        )
    _check_options(method, options)
    measure = _METHODS[method]
    for name, value in (("n_jobs", n_jobs), ("random_state", random_state)):
        if name in signature(measure).parameters:
            options[name] = value
    if method == "label_shift":
        tasks, codes = task_codes(X, task)
        _check_n_tasks(len(tasks))
        values = measure(y, codes, len(tasks), **options)
    else:
        data = check_task_data(
            X,
            task=task,
            encoding={"categories": "indicators"},
            accept_sparse=("csc", "csr") if method in _SKIP_NAN else "csr",
            allow_nan=method in _SKIP_NAN,
            estimator=f"task_distances(method={method!r})",
        )
        _check_n_tasks(data.n_tasks)
        tasks, values = data.tasks, measure(data, **options)
    return TaskDistances(values, tasks, method, directed=method in _DIRECTED)
