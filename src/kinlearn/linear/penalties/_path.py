"""Paths over alpha with warm starts, and the choice of alpha on rows held out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.linear.penalties._design import Design
from kinlearn.linear.penalties._losses import Loss
from kinlearn.linear.penalties._solution import Solution
from kinlearn.linear.penalties._solvers import Start, solve, start_of
from kinlearn.utils import deal_to_folds, row_hashes

__all__ = ["PenaltyPath", "alpha_grid", "deal_folds", "held_out_losses", "walk"]


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """Coefficients for a falling sequence of penalties.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        The penalties, descending.
    coefs : ndarray of shape (n_alphas, ...)
        Coefficients, each with the shape of ``coef_``.
    intercepts : ndarray of shape (n_alphas, ...)
        Intercepts, each with the shape of ``intercept_``.
    dual_gaps : ndarray of shape (n_alphas,)
        By how much the objective is above its least value, at most.
    """

    alphas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    dual_gaps: np.ndarray


def alpha_grid(start: Start, alphas: Any, n_alphas: int) -> np.ndarray:
    """The alphas of a path, descending; those given, or from the largest down."""
    if alphas is not None:
        return np.sort(np.asarray(alphas, dtype=np.float64))[::-1]
    most = start.largest_alpha
    if most <= 1e-10 * start.null_loss**0.5:  # nothing to explain, or nothing to do so
        return np.ones(1)
    return most * np.geomspace(1.0, start.penalty.least_fraction, n_alphas)


def walk(
    start: Start, alphas: np.ndarray, tol: float, max_iter: int
) -> Iterator[Solution]:
    """Solutions for descending alphas, each begun with the one before."""
    now = start.solution
    for alpha in alphas.tolist():
        now = solve(start, alpha, now, tol, max_iter)
        yield now


def deal_folds(
    X: Any, y: np.ndarray, task: np.ndarray, is_class: bool, n_folds: int
) -> np.ndarray:
    """Folds of rows, evenly by task and class; -1 for what must stay in training.

    That is the only row, copies apart, of its task and class. Which fold a row has
    depends on its values, not on its place, and copies of a row go together, so that a
    weight of 2 is the same as two rows.
    """
    hashes = _hashes(X, y)
    label = y.astype(np.int64) if is_class else np.zeros(len(y), dtype=np.int64)
    n_labels = int(label.max(initial=0)) + 1
    # tasks in the order of their least hashes, so that their names decide nothing
    least = np.full(int(task.max(initial=0)) + 1, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(least, task, hashes)
    rank = np.argsort(np.argsort(least, kind="stable"), kind="stable")[task]
    cell = rank * n_labels + label
    order = np.lexsort((hashes, cell))
    new = np.ones(len(order), dtype=bool)
    same = (np.diff(cell[order]) == 0) & (np.diff(hashes[order]) == 0)
    new[1:] = ~same
    cells, counts = np.unique(cell[order][new], return_counts=True)
    quota = deal_to_folds(cells // n_labels, cells % n_labels, counts, n_folds)
    dealt = np.repeat(np.tile(np.arange(n_folds), len(cells)), quota.ravel())
    dealt[np.repeat(counts, counts) == 1] = -1
    fold = np.empty(len(y), dtype=np.intp)
    fold[order] = dealt[np.cumsum(new) - 1]
    return fold


def _hashes(X: Any, y: np.ndarray) -> np.ndarray:
    """A number for each row by its values, whether they are kept sparse or not."""
    out = row_hashes(np.zeros((0, len(y)), dtype=np.float32), y)
    with np.errstate(over="ignore"):
        if sp.issparse(X):
            X = sp.csr_array(X).astype(np.float32)
            cells = row_hashes(X.data[None], X.indices)
            cells[X.data == 0] = 0
            until = np.concatenate([np.zeros(1, np.uint64), np.cumsum(cells)])
            return out + until[X.indptr[1:]] - until[X.indptr[:-1]]
        for j in range(X.shape[1]):
            column = X[:, j].astype(np.float32)
            cells = row_hashes(column[None], np.full(len(y), j))
            out += np.where(column == 0, np.uint64(0), cells)
    return out


def _part(start: Start, rows: np.ndarray) -> tuple[Design, Loss]:
    """Some rows as a problem of their own, with weights that sum to 1 by task."""
    design, loss = start.design.take(rows), start.loss
    kept = np.zeros(start.design.layout.row_ptr[-1], dtype=bool)
    kept[rows] = True
    pairs = kept[loss.layout.pair_row]
    weight = loss.weight[pairs]
    total = design.layout.sums(weight)
    weight = weight / np.where(total > 0, total, 1.0)[design.layout.pair_output]
    return design, replace(loss, layout=design.layout, y=loss.y[pairs], weight=weight)


def held_out_losses(
    start: Start,
    fold: np.ndarray,
    row_weight: np.ndarray,
    alphas: np.ndarray,
    tol: float,
    max_iter: int,
    patience: int,
) -> np.ndarray:
    """Mean losses of the rows held out, of shape (n_alphas, n_folds).

    Where the first fold's loss was not lowered by so many alphas (`patience`), the
    path ends, for all folds: what follows fits too closely, and takes longest.
    """
    folds = np.unique(fold[fold >= 0])
    out = np.full((len(alphas), len(folds)), np.inf)
    for k, held in enumerate(folds.tolist()):
        design, loss = _part(start, np.flatnonzero(fold != held))
        training = start_of(design, loss, start.penalty)
        rows = np.flatnonzero(fold == held)
        design, loss = _part(start, rows)
        # by rows, not by tasks: what is chosen is to predict rows
        weight = row_weight[rows][design.layout.pair_row]
        loss = replace(loss, weight=weight / row_weight[rows].sum())
        for i, found in enumerate(walk(training, alphas, tol, max_iter)):
            scores = design.scores(found.coef)
            out[i, k] = loss.value(scores + found.intercept[loss.layout.pair_output])
            if k == 0 and i - np.argmin(out[:, 0]) >= patience:
                alphas, out = alphas[: i + 1], out[: i + 1]
                break
    return out
