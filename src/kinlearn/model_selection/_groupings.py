"""Which column makes good groups, and numbers cut into groups (Cai 2011, 4.5)."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv, cross_val_score

from kinlearn.exceptions import UnknownTaskWarning
from kinlearn.tables.internal import (
    AnyTable,
    append_column,
    find_column,
    open_table,
)
from kinlearn.tasks import class_codes, numbers
from kinlearn.tasks.internal import encode_values
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["Grouping", "equal_groups", "rank_groupings"]

_MOST_VALUES = 10  # of a column that is taken without being named
_NAME = "rank_groupings"
_COLUMNS = ("privileged", "categorical_features", "group", "keep")
# Parameters that may be mappings from tasks, and what they are without these.
_FOR_ALL = {
    "correction_kernel": None,
    "correction_gamma": None,
    "label_sets": "connected",
}


@dataclass(frozen=True)
class Grouping:
    """A column as a grouping, and what it was worth.

    Attributes
    ----------
    column : str, int or None
        Name or position of the column; None is no grouping.
    score : float
        Mean score on held-out rows of the estimator with these groups as its tasks.
    error : float
        Standard error of the mean over the folds; NaN for a single one.
    correlation : float
        How strongly the column and the target go together: the absolute coefficient of
        Pearson; for text the correlation ratio; the greatest one of several classes. 0
        where the target is constant.
    sizes : tuple of int
        Rows of each group.
    edges : tuple of float or None
        Where a number was cut: values up to the first edge are group 0.
    """

    column: str | int | None
    score: float
    error: float
    correlation: float
    sizes: tuple[int, ...]
    edges: tuple[float, ...] | None = None


def _finite(values: ArrayLike, what: str) -> np.ndarray:
    """Values that are cut into groups, as finite float64 numbers."""
    found = np.asarray(values)
    if found.ndim != 1 or not len(found):
        raise ValueError(
            f"{what} takes one number for each row; got an array of shape "
            f"{found.shape}."
        )
    if found.dtype.kind == "O":
        odd = [cell for cell in found.tolist() if not isinstance(cell, Real)]
        if odd:
            raise ValueError(f"{what} takes numbers; one of the values is {odd[0]!r}.")
    elif found.dtype.kind not in "fiub":
        raise ValueError(
            f"{what} takes numbers; the values have dtype {found.dtype}. Text needs no "
            "cuts: it is a grouping as it is."
        )
    found = found.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        raise ValueError(
            f"{what} takes finite numbers; {len(wrong)} of the values are NaN or "
            f"infinite, the first in row {wrong[0]}. Leave out or fill these rows."
        )
    return found


def equal_groups(values: ArrayLike, n_groups: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Cut a number into groups of about equal size.

    Equal values stay together, so that groups of a number with few values can differ
    in size, and there can be fewer of them.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Finite numbers.
    n_groups : int, default=3
        Groups at the most.

    Returns
    -------
    groups : int64 array of shape (n_samples,)
        Group of each value, 0 and up.
    edges : float64 array of shape (at most n_groups - 1,)
        The largest value of each group but the last: groups of new values are
        ``numpy.searchsorted(edges, new)``.

    Examples
    --------
    >>> from kinlearn.model_selection import equal_groups
    >>> groups, edges = equal_groups([31, 67, 45, 52, 58, 39], n_groups=3)
    >>> groups
    array([0, 2, 1, 1, 2, 0])
    >>> edges
    array([39., 52.])
    """
    if not isinstance(n_groups, Integral) or n_groups < 1:
        raise ValueError(f"n_groups must be a whole number from 1; got {n_groups!r}.")
    values = _finite(values, "equal_groups")
    distinct, counts = np.unique(values, return_counts=True)
    reached = np.cumsum(counts)
    edges: list[int] = []
    first = done = 0
    for left in range(n_groups, 1, -1):
        # what is left is divided anew, as equal values may have filled several groups
        goal = done + (len(values) - done) / left
        rest = reached[first:-1]
        if not len(rest):
            break
        edges.append(first + int(np.argmin(np.abs(rest - goal))))
        first, done = edges[-1] + 1, int(reached[edges[-1]])
    cuts = distinct[edges].astype(np.float64)
    return np.searchsorted(cuts, values), cuts


def _task_params(estimator: Any) -> list[str]:
    """Names of the parameters that hold the task column, or that of the groups."""
    names = list(estimator.get_params(deep=True))
    for last in ("task", "group"):
        found = [name for name in names if name.rpartition("__")[2] == last]
        if found:
            return found
    raise TypeError(
        f"{_NAME} needs an estimator with the parameter task or group, such as "
        f"MultiTaskSVC(); {type(estimator).__name__} has neither."
    )


def _from_the_front(
    estimator: Any, params: list[str], table: AnyTable
) -> dict[str, Any]:
    """Parameters that name columns from the end of X, or by a mask, for a wider X.

    These are returned as positions from the front. Those of an inner estimator, whose
    columns may be others than those of X, are refused.
    """
    found: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=True).items():
        inner, _, last = name.rpartition("__")
        if last not in _COLUMNS or name in params or value is None:
            continue
        keys = np.array(value, dtype=object, ndmin=1).ravel().tolist()
        mask = bool(keys) and all(isinstance(key, bool | np.bool_) for key in keys)
        if not mask and not any(isinstance(key, Integral) and key < 0 for key in keys):
            continue
        if inner:
            raise ValueError(
                f"{name}={value!r} counts columns from the end or is a mask, but the "
                f"groups that {_NAME} tries are a further column, the last. Give names "
                "of the columns, or positions from 0."
            )
        if not mask:
            places = [find_column(key, table, last.capitalize()) for key in keys]
            found[name] = places[0] if isinstance(value, Integral) else places
        elif len(keys) == table.n_columns:  # else the estimator says what is wrong
            found[name] = [*keys, False]
    return found


def _without_mappings(estimator: Any) -> dict[str, Any]:
    """What parameters become that are mappings from tasks, where there are none."""
    return {
        name: _FOR_ALL[name.rpartition("__")[2]]
        for name, value in estimator.get_params(deep=True).items()
        if isinstance(value, Mapping) and name.rpartition("__")[2] in _FOR_ALL
    }


def _correlation(column: np.ndarray, text: bool, targets: np.ndarray) -> float:
    """The greatest over the targets, which are centred columns; constants have 0."""
    targets = targets[:, targets.any(axis=0)]
    if not targets.shape[1]:
        return 0.0
    if text:
        means = np.stack(
            [targets[column == c].mean(axis=0) for c in range(column.max() + 1)]
        )
        explained = np.square(means[column]).sum(axis=0)
        return float(np.sqrt((explained / np.square(targets).sum(axis=0)).max()))
    centred = column - column.mean()
    lengths = np.linalg.norm(centred) * np.linalg.norm(targets, axis=0)
    return float(np.abs(centred @ targets / lengths).max())


def _targets(y: ArrayLike, classes: bool) -> np.ndarray:
    """Columns that correlations are taken with: y, or indicators of classes."""
    if not classes:
        columns = numbers(y, _NAME)[:, None]
    else:
        labels, codes = class_codes(y, _NAME)
        columns = np.eye(len(labels))[codes][:, : 1 if len(labels) == 2 else None]
    varies = np.ptp(columns, axis=0) > 0  # the mean may be off by a rounding
    return np.where(varies, columns - columns.mean(axis=0), 0.0)


def rank_groupings(
    estimator: Any,
    X: Table,
    y: ArrayLike,
    *,
    columns: Sequence[str | int] | None = None,
    n_groups: int = 3,
    cv: Any = 5,
    scoring: str | Callable[..., Any] | None = None,
    n_jobs: int | None = None,
) -> list[Grouping]:
    """Rank columns by what their groups are worth as tasks.

    Any column can split the rows into groups: age bands, sites, stages. Whether a
    model of several tasks gains by it depends on the column. Each one is made the
    task column in turn, and the estimator is scored on the same held-out rows. The
    column stays a feature.

    Parameters
    ----------
    estimator : estimator
        With a parameter `task` or `group`, such as
        :class:`kinlearn.svm.MultiTaskSVC`, or a pipeline that has some; these are set.
    X : array-like or data frame of shape (n_samples, n_columns)
        Features, without a task column.
    y : array-like of shape (n_samples,)
        Classes or numbers.
    columns : list of str or int, default=None
        Candidates; None is every column of finite numbers, and those of text with at
        most 10 values. Constant ones are left out.
    n_groups : int, default=3
        Into how many groups of equal size numbers with more values are cut.
    cv : int, splitter or iterable, default=5
        Folds, the same for all.
    scoring : str, callable or None, default=None
        What to maximise; None is the estimator's own score.
    n_jobs : int or None, default=None
        Fits at a time.

    Returns
    -------
    list of Grouping
        The best one first. One of them has ``column=None``: the estimator without
        groups, which a grouping must beat.

    See Also
    --------
    kinlearn.audit.compare_sharing : Says with intervals whether tasks gain by sharing.

    Notes
    -----
    The winner of many candidates looks better than it is: score it again on rows that
    had no part in the choice.

    A strong correlation with the target means that groups differ in their level, which
    a feature can tell as well; it need not mean that they follow different rules. In
    the thesis columns of high correlation gained by models of each group, one of low
    correlation by sharing, and an irrelevant one by neither.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.model_selection import rank_groupings
    >>> from kinlearn.svm import MultiTaskSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 3))
    >>> y = X[:, 0] * np.sign(X[:, 2]) > 0  # the sign of column 2 turns the rule
    >>> model = MultiTaskSVC(kernel="linear", correction_penalty=0.1)
    >>> ranked = rank_groupings(model, X, y, n_groups=2)
    >>> ranked[0].column, ranked[0].sizes
    (2, (75, 75))
    """
    if isinstance(columns, str):
        raise TypeError(
            f"columns must be a list of names or positions; got {columns!r}. For one "
            f"column give [{columns!r}]."
        )
    params = _task_params(estimator)
    classes = is_classifier(estimator)
    targets = _targets(y, classes)
    table = open_table(X)
    folds = list(
        check_cv(cv, np.asarray(y), classifier=classes).split(X, np.asarray(y))
    )

    # the column of the groups is put behind the others, where no place may move
    fixed = _from_the_front(estimator, params, table)

    def scored(X: Table, task: str | int | None) -> tuple[float, float]:
        model = clone(estimator).set_params(**dict.fromkeys(params, task))
        model.set_params(**(_without_mappings(model) if task is None else fixed))
        with warnings.catch_warnings():
            # small groups may lie in one fold
            warnings.simplefilter("ignore", UnknownTaskWarning)
            scores = cross_val_score(
                model,
                X,
                y,
                cv=folds,
                scoring=scoring,
                n_jobs=n_jobs,
                error_score="raise",
            )
        n = len(scores)
        error = scores.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
        return float(scores.mean()), float(error)

    found = [Grouping(None, *scored(X, None), 0.0, (table.n_rows,))]
    for key, place in _candidates(columns, table):
        text = not table.is_numeric([place])
        values = np.asarray(table.column(place), dtype=object if text else np.float64)
        if not text and columns is None and not np.isfinite(values).all():
            continue
        codes, n_values = _codes(values, text, f"Grouping column {key!r}")
        if n_values < 2 or (columns is None and text and n_values > _MOST_VALUES):
            continue
        groups, edges = codes, None
        if not text and n_values > n_groups:
            groups, cuts = equal_groups(values, n_groups)
            edges = tuple(cuts.tolist())
        name = "grouping"
        while table.names is not None and name in table.names:
            name += "_"
        grouped = append_column(table, groups, name)
        task = -1 if table.names is None else name
        correlation = _correlation(codes if text else values, text, targets)
        sizes = tuple(np.bincount(groups).tolist())
        found.append(Grouping(key, *scored(grouped, task), correlation, sizes, edges))
    return sorted(found, key=lambda grouping: -grouping.score)


def _candidates(
    columns: Sequence[str | int] | None, table: AnyTable
) -> Iterable[tuple[str | int, int]]:
    """Names and positions of the columns that are tried."""
    if columns is None:
        names = range(table.n_columns) if table.names is None else table.names
        return list(zip(names, range(table.n_columns), strict=True))
    return [(key, find_column(key, table, "Grouping")) for key in columns]


def _codes(values: np.ndarray, text: bool, what: str) -> tuple[np.ndarray, int]:
    """Codes of the values, and how many different ones there are."""
    if text:
        values = np.array([str(value) for value in values.tolist()], dtype=object)
    else:
        values = _finite(values, what)
    distinct, codes = encode_values(values)
    return codes, len(distinct)
