"""The one function for all distances between tasks."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from kinlearn.relatedness._label_shift import label_shift
from kinlearn.relatedness._marginals import hellinger, ks, symmetric_kl
from kinlearn.relatedness._mmd import mmd
from kinlearn.relatedness._proxy_a import proxy_a
from kinlearn.relatedness._result import TaskDistances
from kinlearn.tasks import check_task_data, task_codes
from kinlearn.utils._typing import ArrayLike, RandomState, Table, TaskColumn

__all__ = ["task_distances"]

_METHODS: dict[str, Callable] = {
    "hellinger": hellinger,
    "kl": symmetric_kl,
    "ks": ks,
    "label_shift": label_shift,
    "mmd": mmd,
    "proxy_a": proxy_a,
}
_SKIP_NAN = ("hellinger", "kl", "ks")
_MAX_TASKS = 10_000


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
        - "hellinger": Hellinger distance between binned marginals, in 0 .. 1.
        - "proxy_a": proxy A-distance 2 (1 - 2 err), in 0 .. 2, where err is the
          balanced cross-validated error of a linear classifier that
          separates the two tasks.
        - "label_shift": distance between the distributions of y.
    n_jobs : int, default=None
        Workers of "proxy_a", and threads of "ks" and of Wasserstein distances.
        The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Draws the folds of "proxy_a"; for "mmd", the random frequencies and, of
        more than 2,000 rows, the sample for the kernel's width.
    **options
        Options of the method:

        - aggregate : {"mean", "max"}, default="mean". How "ks", "kl" and
          "hellinger" make one number of all features.
        - n_bins : int, default=20. Bins of a feature at the most, for "kl" and
          "hellinger". They are cut at quantiles of all tasks together, each task
          with the same weight; a feature with few distinct values gets a bin for
          each.
        - smoothing : float, default=0.5. Rows that "kl" adds to every bin.
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
        - scale : bool, default=True. Whether "mmd" and "proxy_a" scale the
          features to unit variance first.
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
        Symmetric matrix with the tasks' names.

    See Also
    --------
    kinlearn.report.TaskDistanceDisplay : Draw it.

    Notes
    -----
    "kl" is a divergence and "proxy_a" an error rate: neither obeys the triangle
    inequality.

    Missing values are left out of their marginal by "ks", "kl" and "hellinger".
    A feature of which a task has no value at all is left out of this task's
    pairs. "mmd" and "proxy_a" compare whole rows and refuse NaN.

    Small samples differ by chance, so tasks of few rows look far from
    everything, by "kl" more than by the others. Only the unbiased "mmd" and
    "proxy_a" correct for it: their expectation does not grow when rows get few.
    The squared MMD may then come out negative by chance; its root is given as 0.

    At most 10,000 tasks are taken. All methods hold a few matrices of this size
    and no copy of a dense X (except that the exact "mmd" and "proxy_a" hold a
    scaled one). "ks", "kl" and "hellinger" take sparse X a column at a time.

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
    return TaskDistances(values, tasks, method)
