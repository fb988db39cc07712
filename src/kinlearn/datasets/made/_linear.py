"""Related linear tasks: the synthetic problems of SVM+MTL (Cai 2011).

Chapters 4 and 6 of the thesis label rows by the sign of a linear function,
chapter 5 adds noise to one; the tasks share most of their coefficients.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from kinlearn.datasets._assemble import Generated, hand_over
from kinlearn.datasets._checks import (
    Seed,
    as_counts,
    as_number,
    as_option,
    as_random_state,
)
from kinlearn.utils._typing import ArrayLike

__all__ = ["make_linear_classification", "make_linear_regression"]


def _padded(rows: Sequence[Sequence[float]], n_features: int) -> np.ndarray:
    """Coefficient vectors, filled up with zeros."""
    out = np.zeros((len(rows), n_features))
    for filled, row in zip(out, rows, strict=True):
        filled[: len(row)] = row
    return out


class Design(NamedTuple):
    """One published problem."""

    coef: np.ndarray
    n_samples: int
    low: float
    high: float
    offset: float = 0.0
    noise: float = 0.0


_D2 = np.array([[1.0, 0.2], [1.0, 0.4]])
_D20 = _padded(
    [
        [1, 1, 1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1],
        [1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1],
    ],
    20,
)
_D30 = _padded(
    [
        [1, 1, 2, 3, 3, 1, 1, 1, 1, 0, 2, 0, 2, 2, 0, 2],
        [1, 1, 2, 3, 3, 1, 1, 1, 0, 2, 0, 2, 2, 0, 0, 0, 0, 2, 0, 2],
        [1, 1, 2, 3, 3, 1, 1, 0, 1, 0, 0, 3, 0, 0, 2, 0, 2, 0, 2],
    ],
    30,
)
_D20_STEEP = _padded(
    [
        [1, 1, 2, 3, 3, 1, 1, 1, 1, 0, 4, 0, 4, 4],
        [1, 1, 2, 3, 3, 1, 1, 1, 0, 4, 0, 2, 4],
        [1, 1, 2, 3, 3, 1, 1, 0, 1, 0, 0, 4, 0, 0, 4],
    ],
    20,
)

CLASSIFICATION_DESIGNS = {
    "d20": Design(_D20, 100, -1.0, 1.0, offset=0.5),
    "d30_costs": Design(_D30, 200, -1.0, 1.0, offset=4.0),
    "d30_noise": Design(_D30, 300, -1.0, 1.0, noise=0.5),
    "d2": Design(_D2, 30, -1.0, 1.0, offset=0.3),
}
REGRESSION_DESIGNS = {
    "d30_n20": Design(_D30, 20, 0.0, 1.0, noise=1.0),
    "d30_n50": Design(_D30, 50, 0.0, 1.0, noise=1.0),
    "d20_n100": Design(_D20_STEEP, 100, -1.0, 1.0, noise=0.5),
}


def _chosen_design(
    designs: dict[str, Design],
    design: str,
    coef: Any,
    n_samples_per_task: Any,
    **given: float | None,
) -> tuple[Design, np.ndarray]:
    """The named problem, with what the caller replaced."""
    plan = designs[as_option(design, "design", tuple(designs))]
    if coef is not None:
        coef = np.array(coef, dtype=np.float64)
        if coef.ndim != 2 or 0 in coef.shape or not np.isfinite(coef).all():
            raise ValueError(
                "coef must hold a row of finite numbers for each task; got shape "
                f"{coef.shape}."
            )
        plan = plan._replace(coef=coef)
    for name, value in given.items():
        if value is not None:
            floor = 0.0 if name == "noise" else -np.inf
            changed: dict[str, Any] = {name: as_number(value, name, low=floor)}
            plan = plan._replace(**changed)
    if not plan.low < plan.high:
        raise ValueError(f"low must be below high; got {plan.low} and {plan.high}.")
    if n_samples_per_task is None:
        n_samples_per_task = plan.n_samples
    counts = as_counts(n_samples_per_task, "n_samples_per_task", len(plan.coef))
    return plan, counts


def _make(
    plan: Design,
    counts: np.ndarray,
    random_state: Seed,
    *,
    labels: bool = False,
    **options: Any,
) -> Generated:
    """Rows whose target is a task's linear function with noise, or its sign."""
    rng = as_random_state(random_state)
    task = np.repeat(np.arange(len(counts)), counts)
    X = rng.uniform(plan.low, plan.high, (len(task), plan.coef.shape[1]))
    clean = np.einsum("ij,ij->i", X, plan.coef[task]) + plan.offset
    y = clean + plan.noise * rng.standard_normal(len(task))
    if labels:
        clean, y = (clean > 0).astype(np.int64), (y > 0).astype(np.int64)
    truth = {
        "coef": plan.coef.copy(),
        "intercept": np.full(len(plan.coef), plan.offset),
        "noise": plan.noise,
    }
    return hand_over(
        X, task, y, truth, row_truth={"clean_y": clean}, rng=rng, **options
    )


def make_linear_classification(
    n_samples_per_task: int | Sequence[int] | None = None,
    *,
    design: Literal["d20", "d30_costs", "d30_noise", "d2"] = "d20",
    coef: ArrayLike | None = None,
    offset: float | None = None,
    noise: float | None = None,
    low: float | None = None,
    high: float | None = None,
    shuffle: bool = True,
    as_frame: bool = False,
    return_truth: bool = False,
    random_state: Seed = None,
) -> Generated:
    """Binary tasks whose linear boundaries share most coefficients.

    Features are uniform in ``(low, high)``; a row of task t has label 1 if
    ``coef[t] @ x + offset + noise * e > 0`` with e standard normal, else 0.

    Parameters
    ----------
    n_samples_per_task : int or sequence of int, default=None
        Rows of every task, or of each. None: as in the design.
    design : {"d20", "d30_costs", "d30_noise", "d2"}, default="d20"
        The published problem; each can be changed by the parameters below.

        - ``"d20"``: 3 tasks, 20 features, offset 0.5, no noise, 100 rows
          (table 4.5 also has 50 and 15);
        - ``"d30_costs"``: 3 tasks, 30 features, offset 4, so that 85% of the
          labels are 1; 200 rows (table 4.7, unequal costs);
        - ``"d30_noise"``: the same coefficients without offset, noise 0.5, 300
          rows (table 6.1 has 300, 500 and 800);
        - ``"d2"``: 2 tasks, 2 features, offset 0.3, 30 rows (figure 4.2).
    coef : array-like of shape (n_tasks, n_features), default=None
        Coefficients of each task, in place of the design's.
    offset, noise, low, high : float, default=None
        In place of the design's.
    shuffle : bool, default=True
        Mix the rows; False leaves them task by task.
    as_frame : bool, default=False
        Return a pandas frame with columns ``x0, x1, ..., task`` and a series.
    return_truth : bool, default=False
        Return the truth as well.
    random_state : int, Generator, RandomState or None, default=None
        Decides the rows; None differs each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features + 1) or DataFrame
        Features, and the task 0, 1, ... as the last column.
    y : int64 array of shape (n_samples,) or Series
        Labels 0 and 1 (the thesis writes -1 and +1).
    truth : Bunch
        Only with ``return_truth=True``: ``coef`` (n_tasks, n_features),
        ``intercept`` (n_tasks,), ``noise``, and by row ``clean_y``, the label
        without noise.

    See Also
    --------
    make_linear_regression : The same with a continuous target.
    make_clustered_classification : Tasks in clusters, one of them unrelated.

    Notes
    -----
    Chapter 6 prints uniform(0, 1) features for ``"d30_noise"``. All coefficients
    being positive, practically every label would be 1; as in chapter 4,
    (-1, 1) is used. The coefficients of 30 features are those of chapter 6;
    chapters 4 and 5 are garbled by the scan.

    References
    ----------
    F. Cai (2011), Advanced Learning Approaches Based on SVM+ Methodology,
    chapters 4 and 6; after L. Liang and V. Cherkassky (2008).

    Examples
    --------
    >>> from kinlearn.datasets import make_linear_classification
    >>> X, y = make_linear_classification(50, random_state=0)
    >>> X.shape, y.shape
    ((150, 21), (150,))
    >>> frame, y = make_linear_classification(50, as_frame=True, random_state=0)
    >>> frame["task"].value_counts().tolist()
    [50, 50, 50]
    """
    plan, counts = _chosen_design(
        CLASSIFICATION_DESIGNS,
        design,
        coef,
        n_samples_per_task,
        low=low,
        high=high,
        offset=offset,
        noise=noise,
    )
    return _make(
        plan,
        counts,
        random_state,
        labels=True,
        shuffle=shuffle,
        as_frame=as_frame,
        return_truth=return_truth,
    )


def make_linear_regression(
    n_samples_per_task: int | Sequence[int] | None = None,
    *,
    design: Literal["d30_n20", "d30_n50", "d20_n100"] = "d30_n20",
    coef: ArrayLike | None = None,
    offset: float | None = None,
    noise: float | None = None,
    low: float | None = None,
    high: float | None = None,
    shuffle: bool = True,
    as_frame: bool = False,
    return_truth: bool = False,
    random_state: Seed = None,
) -> Generated:
    """Regression tasks whose linear functions share most coefficients.

    Features are uniform in ``(low, high)``; a row of task t has the target
    ``coef[t] @ x + offset + noise * e`` with e standard normal.

    Parameters
    ----------
    n_samples_per_task : int or sequence of int, default=None
        Rows of every task, or of each. None: as in the design.
    design : {"d30_n20", "d30_n50", "d20_n100"}, default="d30_n20"
        The published problem, by features and rows per task; each can be
        changed by the parameters below. Published mean squared errors, pooled /
        alone / SVM+MTL:

        - ``"d30_n20"``: noise 1, 4.0 / 4.9 / 3.0 (table 5.4);
        - ``"d30_n50"``: noise 1, 2.5 / 2.3 / 1.8 (table 5.5);
        - ``"d20_n100"``: noise 0.5, 7.8 / 0.3 / 1.1 (table 5.6): enough rows
          for each task to do better alone.
    coef : array-like of shape (n_tasks, n_features), default=None
        Coefficients of each task, in place of the design's.
    offset, noise, low, high : float, default=None
        In place of the design's.
    shuffle : bool, default=True
        Mix the rows; False leaves them task by task.
    as_frame : bool, default=False
        Return a pandas frame with columns ``x0, x1, ..., task`` and a series.
    return_truth : bool, default=False
        Return the truth as well.
    random_state : int, Generator, RandomState or None, default=None
        Decides the rows; None differs each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features + 1) or DataFrame
        Features, and the task 0, 1, ... as the last column.
    y : float64 array of shape (n_samples,) or Series
        Targets.
    truth : Bunch
        Only with ``return_truth=True``: ``coef`` (n_tasks, n_features),
        ``intercept`` (n_tasks,), ``noise``, and by row ``clean_y``, the target
        without noise.

    See Also
    --------
    make_linear_classification : The same with labels.
    make_clustered_regression : Tasks in clusters, one of them unrelated.

    Notes
    -----
    The thesis prints uniform(0, 1) features for all three. That fits tables 5.4
    and 5.5, but not 5.6: the best pooled linear model would have a mean squared
    error of 3.0 there, and 7.2 with uniform(-1, 1), where 7.8 was published. So
    ``"d20_n100"`` uses (-1, 1); ``low=0`` gives the printed form.

    References
    ----------
    F. Cai (2011), Advanced Learning Approaches Based on SVM+ Methodology,
    chapter 5.

    Examples
    --------
    >>> from kinlearn.datasets import make_linear_regression
    >>> X, y, truth = make_linear_regression(return_truth=True, random_state=0)
    >>> X.shape, truth.coef.shape
    ((60, 31), (3, 30))
    """
    plan, counts = _chosen_design(
        REGRESSION_DESIGNS,
        design,
        coef,
        n_samples_per_task,
        low=low,
        high=high,
        offset=offset,
        noise=noise,
    )
    return _make(
        plan,
        counts,
        random_state,
        shuffle=shuffle,
        as_frame=as_frame,
        return_truth=return_truth,
    )
