"""How far the tasks' targets are apart, whatever the features are."""

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    column_or_1d,
)

from kinlearn.relatedness._marginals import hellinger_between
from kinlearn.tasks import class_codes, numbers
from kinlearn.utils import group_rows
from kinlearn.utils._ecdf import stack_ecdfs, wasserstein_distances

__all__ = ["label_shift"]

_CLASS_DISTANCES = ("total_variation", "hellinger")
_NUMBER_DISTANCES = ("wasserstein", "mean_difference")
_NAME = 'task_distances(method="label_shift")'


def _between_classes(
    y: Any, codes: np.ndarray, n_tasks: int, distance: str
) -> np.ndarray:
    classes, y = class_codes(y, _NAME)
    check_consistent_length(codes, y)
    places = codes.astype(np.intp) * len(classes) + y
    counts = np.bincount(places, minlength=n_tasks * len(classes))
    shares = (
        counts.reshape(n_tasks, -1) / np.bincount(codes, minlength=n_tasks)[:, None]
    )
    if distance == "hellinger":
        return hellinger_between(shares)
    return squareform(pdist(shares, "cityblock") / 2.0)


def _between_numbers(
    y: Any, codes: np.ndarray, n_tasks: int, distance: str, n_jobs: int | None
) -> np.ndarray:
    y = numbers(y, _NAME)
    check_consistent_length(codes, y)
    if distance == "wasserstein":
        indptr, order = group_rows(codes, n_tasks)
        return wasserstein_distances(stack_ecdfs(y[order], indptr), n_jobs=n_jobs)
    sizes = np.bincount(codes, minlength=n_tasks)
    means = np.bincount(codes, weights=y, minlength=n_tasks) / sizes
    squares = np.square(y - means[codes]).sum()
    # not "== 0": the mean of equal numbers need not be that number
    if squares <= len(y) * (1e-14 * np.abs(y).max()) ** 2:
        raise ValueError(
            "y is constant within each task, so its mean difference has no standard "
            'deviation to be measured in. Use distance="wasserstein".'
        )
    deviation = np.sqrt(squares / (len(y) - n_tasks))
    return np.abs(means[:, None] - means) / deviation


def label_shift(
    y: Any,
    codes: np.ndarray,
    n_tasks: int,
    *,
    distance: str = "auto",
    n_jobs: int | None = None,
) -> np.ndarray:
    """Distances between the tasks' targets; see `task_distances`.

    "total_variation" or "hellinger" for classes, "wasserstein" or "mean_difference" for
    numbers; "auto" is the first of its kind. Each task has a row.
    """
    known = ("auto", *_CLASS_DISTANCES, *_NUMBER_DISTANCES)
    if distance not in known:
        raise ValueError(
            f"distance must be one of {', '.join(map(repr, known))}; got {distance!r}."
        )
    if y is None:
        raise ValueError(f"{_NAME} compares the tasks' targets, but y is None. Pass y.")
    if distance == "auto":
        y = column_or_1d(y)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        kind = type_of_target(y, input_name="y")
        distance = "wasserstein" if kind == "continuous" else "total_variation"
    if distance in _CLASS_DISTANCES:
        return _between_classes(y, codes, n_tasks, distance)
    return _between_numbers(y, codes, n_tasks, distance, n_jobs)
