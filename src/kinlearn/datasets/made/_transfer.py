"""Source and target data: shifted, imbalanced, rare (Al-Stouhi 2013).

The thesis looks at a data set through its labels: normal within each class,
with few rows in the rare one. A source has more rows, but its classes lie
elsewhere, together or each in its own direction.
"""

from typing import Any

import numpy as np

from kinlearn.datasets._assemble import Generated, hand_over
from kinlearn.datasets._checks import Seed, as_count, as_number, as_random_state

__all__ = ["make_transfer_pair"]


def _unit(rng: np.random.RandomState, n_features: int) -> np.ndarray:
    direction = rng.standard_normal(n_features)
    return direction / np.linalg.norm(direction)


def _rare_count(n: int, ratio: float) -> int:
    """Rows of the rare class among n, for a ratio rare : common."""
    rare = round(n * ratio / (1.0 + ratio))
    return min(max(rare, 1), n - 1)


def _shifts(shift: Any) -> tuple[float, float, bool]:
    """How far the common and the rare class move, and whether together."""
    if np.ndim(shift) == 0:
        size = as_number(shift, "shift", low=0.0)
        return size, size, True
    if len(shift) != 2:
        raise ValueError(
            "shift must be one number, or two: for the common and for the rare "
            f"class; got {shift!r}."
        )
    common, rare = (as_number(s, f"shift[{i}]", low=0.0) for i, s in enumerate(shift))
    return common, rare, False


def make_transfer_pair(
    n_source: int = 1000,
    n_target: int = 100,
    *,
    n_features: int = 5,
    n_sources: int = 1,
    imbalance_ratio: float = 0.1,
    source_imbalance_ratio: float | None = None,
    class_sep: float = 2.0,
    shift: float | tuple[float, float] = 1.0,
    source_label_noise: float = 0.0,
    shuffle: bool = True,
    as_frame: bool = False,
    return_truth: bool = False,
    random_state: Seed = None,
) -> Generated:
    """A large source and a small target whose distributions differ.

    Both classes are normal with unit variance. In the target, the means lie
    `class_sep` apart; in a source they are moved by `shift`.

    Parameters
    ----------
    n_source : int, default=1000
        Rows of each source; at least 2.
    n_target : int, default=100
        Rows of the target; at least 2.
    n_features : int, default=5
        Number of features.
    n_sources : int, default=1
        Number of sources. Source k of n is moved by ``(k + 1) / n`` of the
        shift, each in its own direction: the first is nearest to the target.
    imbalance_ratio : float, default=0.1
        Rows of the rare class for each row of the common one, in (0, 1]. The
        numbers of rows are exact up to rounding; each class has at least one.
    source_imbalance_ratio : float, default=None
        The same in the sources; None is `imbalance_ratio`.
    class_sep : float, default=2.0
        Distance between the class means of the target, in standard deviations.
    shift : float or (float, float), default=1.0
        How far the source's means lie from the target's, in standard
        deviations. One number moves both classes together; two numbers move
        the common and the rare class each in its own direction
        (label-dependent shift).
    source_label_noise : float, default=0.0
        Fraction of source rows with the wrong label.
    shuffle : bool, default=True
        Mix the rows; False leaves sources first, the target last.
    as_frame : bool, default=False
        Return a pandas frame with columns ``x0, x1, ..., task`` and a series;
        the task is then ``"source"`` (``"source_0"``, ... if there are several)
        or ``"target"``.
    return_truth : bool, default=False
        Return the truth as well.
    random_state : int, Generator, RandomState or None, default=None
        Decides directions and rows; None differs each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features + 1) or DataFrame
        Features, and the task as the last column: sources are 0, 1, ..., the
        target is `n_sources`.
    y : int64 array of shape (n_samples,) or Series
        0 for the common class, 1 for the rare one.
    truth : Bunch
        Only with ``return_truth=True``: ``means`` (n_tasks, 2, n_features),
        ``target`` (the target's number), and by row ``clean_y``, the label
        before the noise.

    Notes
    -----
    The thesis draws such data (figures 2.1 and 5.5 to 5.7) but gives no
    numbers; the sizes here are ours.

    References
    ----------
    S. Al-Stouhi (2013), Learning with an Insufficient Supply of Data via
    Knowledge Transfer and Sharing, thesis, Wayne State University.

    Examples
    --------
    >>> from kinlearn.datasets import make_transfer_pair
    >>> X, y = make_transfer_pair(1000, 110, as_frame=True, random_state=0)
    >>> y.groupby(X["task"]).sum().to_dict()
    {'source': 91, 'target': 10}
    """
    n_source = as_count(n_source, "n_source", minimum=2)
    n_target = as_count(n_target, "n_target", minimum=2)
    n_features = as_count(n_features, "n_features")
    n_sources = as_count(n_sources, "n_sources")
    ratio = as_number(imbalance_ratio, "imbalance_ratio", low=0, high=1, open_low=True)
    source_ratio = ratio
    if source_imbalance_ratio is not None:
        source_ratio = as_number(
            source_imbalance_ratio,
            "source_imbalance_ratio",
            low=0,
            high=1,
            open_low=True,
        )
    class_sep = as_number(class_sep, "class_sep", low=0)
    common_shift, rare_shift, together = _shifts(shift)
    label_noise = as_number(source_label_noise, "source_label_noise", low=0, high=1)
    rng = as_random_state(random_state)

    means = np.zeros((n_sources + 1, 2, n_features))
    means[:, 1] = class_sep * _unit(rng, n_features)
    for k in range(n_sources):
        fraction = (k + 1) / n_sources
        common = _unit(rng, n_features)
        rare = common if together else _unit(rng, n_features)
        means[k, 0] += fraction * common_shift * common
        means[k, 1] += fraction * rare_shift * rare

    sizes = [(n_source, source_ratio)] * n_sources + [(n_target, ratio)]
    labels = []
    for n, r in sizes:
        rare_rows = _rare_count(n, r)
        labels.append(np.repeat([0, 1], [n - rare_rows, rare_rows]))
    task = np.repeat(np.arange(n_sources + 1), [n for n, _ in sizes])
    clean = np.concatenate(labels)
    X = means[task, clean] + rng.standard_normal((len(task), n_features))
    wrong = (task < n_sources) & (rng.random_sample(len(task)) < label_noise)
    if n_sources == 1:
        names = ["source", "target"]
    else:
        names = [*(f"source_{k}" for k in range(n_sources)), "target"]
    return hand_over(
        X,
        task,
        np.where(wrong, 1 - clean, clean),
        {"means": means, "target": n_sources},
        row_truth={"clean_y": clean},
        task_names=names,
        rng=rng,
        shuffle=shuffle,
        as_frame=as_frame,
        return_truth=return_truth,
    )
