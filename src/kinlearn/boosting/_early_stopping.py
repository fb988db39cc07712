"""Rows held back, by which boosting stops early."""

import numpy as np

__all__ = ["hold_back", "n_held_back"]


def hold_back(
    task: np.ndarray,
    y: np.ndarray | None,
    weight: np.ndarray,
    fraction: float,
    rng: np.random.RandomState | None,
    draws: np.ndarray | None = None,
) -> np.ndarray:
    """Draw rows for validation from every pair of task and class.

    Parameters
    ----------
    task : int array of shape (n,)
        Task codes.
    y : int array of shape (n,) or None
        Class codes; None draws from every task.
    weight : float array of shape (n,)
        Sample weights; rows of weight 0 are not drawn.
    fraction : float
        Of the rows to draw.
    rng : RandomState or None
        Draws.
    draws : array of shape (n,), default=None
        Different numbers that decide in its place: the rows of the least are held back.

    Returns
    -------
    bool array of shape (n,)
        Rows held back; at least one of each pair stays. Tasks of one class have
        nothing to watch; if all are like that, there are none.

    Raises
    ------
    ValueError
        If the fraction is of so few rows that none is held back.
    """
    pairs, can = task.astype(np.int64), weight > 0
    if y is not None:
        pairs = pairs * (int(y.max()) + 1) + y
        first_rows = np.unique(pairs[can], return_index=True)[1]
        n_labels = np.bincount(task[can][first_rows], minlength=int(task.max()) + 1)
        can &= n_labels[task] > 1
    if not can.any():
        return can
    cell = np.unique(pairs, return_inverse=True)[1]
    order = np.flatnonzero(can)
    if draws is not None:
        order = order[np.argsort(draws[order])]
    elif rng is not None:
        order = rng.permutation(order)
    order = order[np.argsort(cell[order], kind="stable")]
    size = np.bincount(cell[order], minlength=cell.max() + 1)
    first = np.cumsum(size) - size
    rank = np.arange(len(order)) - first[cell[order]]
    wanted = n_held_back(size, fraction, "task" if y is None else "task and class")
    held = np.zeros(len(task), dtype=bool)
    held[order[rank < wanted[cell[order]]]] = True
    return held


def n_held_back(size: np.ndarray, fraction: float, what: str) -> np.ndarray:
    """How many rows are held back of sets of so many rows.

    Parameters
    ----------
    size : int array
        Rows of each set.
    fraction : float
        Of the rows to draw.
    what : str
        What a set is.

    Returns
    -------
    int array
        At least one of each set stays.

    Raises
    ------
    ValueError
        If none is held back.
    """
    wanted = np.minimum(np.rint(size * fraction), np.maximum(size - 1, 0))
    if not wanted.any():
        raise ValueError(
            f"validation_fraction={fraction} of the rows of each {what} leaves no row "
            "to hold back. Set a larger fraction, or early_stopping=False."
        )
    return wanted.astype(np.int64)
