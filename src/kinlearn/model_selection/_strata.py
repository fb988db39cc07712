"""What splits are balanced over: tasks, and classes or quantiles within them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_array, column_or_1d

from kinlearn.tasks import encode_tasks, task_codes
from kinlearn.utils._typing import Table, TaskColumn

__all__ = ["MAX_BINS", "Cells", "check_stratify", "make_cells", "read_tasks", "strata"]

MAX_BINS = 10
_STRATIFY = ("auto", "classes", "quantiles", None)


def read_tasks(
    X: Table, task: TaskColumn, groups: Any, *, needed_by: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Tasks of the rows and their codes, from the task column or from `groups`.

    `needed_by` names a splitter that cannot do with one task for all rows.
    """
    if groups is None:
        if task is None and needed_by is not None:
            raise ValueError(
                f"{needed_by} needs tasks: name the task column with task=, or pass "
                "groups= with the task of each row."
            )
        return task_codes(X, task)
    if task is not None:
        raise ValueError(
            f"The tasks are given twice: task={task!r} names a column of X, and "
            "groups= is passed too. Drop one of them."
        )
    return encode_tasks(groups, "groups")


def check_stratify(stratify: Any) -> None:
    """Refuse an unknown option."""
    if stratify not in _STRATIFY:
        raise ValueError(
            "stratify must be 'auto', 'classes', 'quantiles' or None; got "
            f"{stratify!r}."
        )


def strata(
    y: Any, codes: np.ndarray, n_tasks: int, stratify: str | None, bin_rows: int
) -> np.ndarray:
    """Stratum of each row within its task, from 0.

    Classes have the same number in every task. Of quantiles, a task has at least
    `bin_rows` rows in each bin.
    """
    if stratify is None:
        return np.zeros(len(codes), dtype=np.intp)
    if y is None:
        raise ValueError(
            "y is needed to split every task in its own proportions. Pass y, or set "
            "stratify=None."
        )
    y = column_or_1d(y)
    _check_one_kind(y)
    if stratify == "auto":
        kind = type_of_target(y, input_name="y")
        if kind not in ("binary", "multiclass", "continuous"):
            raise ValueError(
                f"y is of kind {kind!r}; strata are made of classes or of one column "
                "of numbers. Set stratify=None to split by task only."
            )
        stratify = "quantiles" if kind == "continuous" else "classes"
    if stratify == "classes":
        return np.unique(y, return_inverse=True)[1]
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    return _quantile_bins(y, codes, n_tasks, bin_rows)


def _check_one_kind(y: np.ndarray) -> None:
    """Refuse labels that cannot be sorted."""
    if y.dtype == object:
        strings = [isinstance(label, str) for label in y.tolist()]
        if any(strings) and not all(strings):
            label = y[strings.index(False)]
            raise ValueError(
                "y mixes strings with other values, such as "
                f"{label!r} in row {strings.index(False)}. Make all of them strings, "
                "or set stratify=None."
            )


def _quantile_bins(
    y: np.ndarray, codes: np.ndarray, n_tasks: int, bin_rows: int
) -> np.ndarray:
    """Bins between each task's own quantiles, equally full, `MAX_BINS` at the most."""
    sizes = np.bincount(codes, minlength=n_tasks)
    n_bins = np.clip(sizes // bin_rows, 1, MAX_BINS)
    order = np.lexsort((y, codes))
    starts = np.cumsum(sizes) - sizes
    rank = np.arange(len(y)) - np.repeat(starts, sizes)
    bins = np.empty(len(y), dtype=np.intp)
    bins[order] = rank * np.repeat(n_bins, sizes) // np.repeat(sizes, sizes)
    return bins


@dataclass(frozen=True)
class Cells:
    """Rows by task and stratum.

    Attributes
    ----------
    order : intp array of shape (n_samples,)
        Row numbers, cell by cell, the cells of a task next to each other.
    counts : intp array of shape (n_cells,)
        Rows of each cell; none is empty.
    tasks, strata : intp arrays of shape (n_cells,)
        What the cells are.
    """

    order: np.ndarray
    counts: np.ndarray
    tasks: np.ndarray
    strata: np.ndarray


def make_cells(
    codes: np.ndarray, strata: np.ndarray, rng: np.random.RandomState | None = None
) -> Cells:
    """Sort rows into cells; `rng` orders tasks, and rows within cells, at random."""
    n_strata = int(strata.max()) + 1
    n_tasks = int(codes.max()) + 1
    place = np.arange(n_tasks) if rng is None else rng.permutation(n_tasks)
    key = place[codes] * n_strata + strata
    if rng is None:
        order = np.argsort(key, kind="stable")
    else:
        mixed = rng.permutation(len(key))
        order = mixed[np.argsort(key[mixed], kind="stable")]
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    return Cells(
        order=order,
        counts=np.diff(first, append=len(order)),
        tasks=codes[order[first]].astype(np.intp),
        strata=strata[order[first]],
    )
