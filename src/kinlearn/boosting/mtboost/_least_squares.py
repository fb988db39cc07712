r"""Weighted linear least squares, fitted a thousand times to the same rows.

The base learner of MTBoost minimises over coefficients a, intercept b and, if wanted,
levels c of the tasks

.. math::

    \sum_j v_j (l_j - a^\top x_j - b - c_{t(j)})^2
    + \rho \Bigl(\lVert a \rVert^2 + \lVert c \rVert^2 / \gamma\Bigr)

for ever new labels l and weights v, where :math:`\gamma` is the mean squared norm of
the centred rows and :math:`\rho` is in its units: the scale of X decides nothing. The
caller passes the root S of the weights and the labels times S; then rows without
weight need no special care. ``fit(target, root)`` gives the scores ``a'x + b + c`` of
all rows and what is kept of the fit, ``correlate`` the scores of a step along the
gradient, and ``finish`` turns what was kept of fits into functions of new rows.

Three forms give the same result: the primal one factors a matrix of features, the dual
one a matrix of rows, the last one nothing. Sparse rows are never made dense.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kinlearn.boosting.mtboost._learners import LinearHypotheses

__all__ = ["CentredRows", "DualForm", "PrimalForm", "TaskLevels", "make_least_squares"]

_MOST_BYTES = 2**29  # of a matrix that is kept
_MOST_WORK = 4e10  # multiplications in one fit, beyond which nothing is factored
_LARGEST = 1e70  # value whose fourth power is finite
_PENALTIES = 1e-12, 1e12  # beyond these, rounding decides
_STALE_STEPS = 6  # conjugate gradient steps for which an old factor is good enough


class CentredRows:
    """Rows less their weighted mean, which is subtracted from products only.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
        The rows.
    weight : float64 array of shape (n,)
        Weights of the mean.
    """

    def __init__(self, X: Any, weight: np.ndarray) -> None:
        largest = float(max(X.max(), -X.min()))
        if largest > _LARGEST:
            raise ValueError(
                f"X holds a value of {largest:.1g}, too large to compute products of "
                "rows. Scale the features, for example with "
                "kinlearn.keep_task(MaxAbsScaler(), task=...)."
            )
        fraction = weight / weight.sum()
        self.mean = np.asarray(X.T @ fraction, dtype=np.float64)
        self.fraction = fraction
        if sp.issparse(X):
            self.X = sp.csr_array(X, dtype=np.float64)
            squared = self.X.multiply(self.X)
            squares = squared @ self._keep_varying(squared.T @ fraction)
            self.offset = self.mean
        else:
            self.X = X - self.mean
            squares = np.einsum("ij,ij->i", self.X, self.X)
            self.offset = np.zeros_like(self.mean)
        # mean squared distance from the mean; 1 where all rows are the same
        norm = float(fraction @ squares)
        spread = norm - float(self.offset @ self.offset)
        self.spread = spread if spread > 1e-12 * norm else 1.0
        self.transposed = sp.csr_array(self.X.T) if sp.issparse(X) else self.X.T

    def _keep_varying(self, mean_squares: np.ndarray) -> np.ndarray:
        """Set features to zero that are the same in all rows; 1 for the others.

        They explain nothing, but the mean is subtracted from products here, and of a
        large constant that would leave rounding errors larger than the others'
        products.
        """
        spread = mean_squares - self.mean**2
        varies = ((spread > 1e-12 * mean_squares) | (mean_squares == 0)).astype(float)
        if not varies.all():
            self.X = sp.csr_array(self.X @ sp.diags_array(varies))
            self.mean = varies * self.mean
        return varies

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.X.shape

    def forward(self, coef: np.ndarray) -> np.ndarray:
        """Products of all rows with coefficients, less those of the mean."""
        return self.X @ coef - self.offset @ coef

    def backward(self, alpha: np.ndarray) -> np.ndarray:
        """Sum of the rows, each times its alpha."""
        out = self.transposed @ alpha
        return out - np.multiply.outer(self.offset, alpha.sum(axis=0))

    def gram(self) -> np.ndarray:
        """Products of all rows with each other."""
        if not sp.issparse(self.X):
            return self.X @ self.X.T
        K = (self.X @ self.transposed).toarray()
        centre = K @ self.fraction
        K -= centre[:, None]
        K -= centre[None, :]
        K += self.fraction @ centre
        return K


class TaskLevels:
    """Which rows are of which task, for levels of the tasks.

    Parameters
    ----------
    task : int array of shape (n,)
        Task of each row; all 0 for no levels.
    n_tasks : int
        Number of tasks, with levels or without.
    wanted : bool
        Whether there are levels. One task has none beside the intercept.
    """

    def __init__(self, task: np.ndarray, n_tasks: int, wanted: bool) -> None:
        self.task = np.asarray(task, dtype=np.intp)
        self.n_tasks = n_tasks
        self.wanted = wanted and n_tasks > 1
        # rows task by task: those of a table with a row for each task
        self._order = np.argsort(self.task, kind="stable")
        self._start = np.searchsorted(self.task[self._order], np.arange(n_tasks + 1))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums by task."""
        return np.bincount(self.task, values, minlength=self.n_tasks)

    def row_sums(self, X: Any, weight: np.ndarray) -> np.ndarray:
        """Weighted sums of rows by task, an array of shape (d, n_tasks)."""
        cells = weight[self._order], self._order, self._start
        table = sp.csr_array(cells, shape=(self.n_tasks, len(self.task)))
        found = table @ X
        return (found.toarray() if sp.issparse(found) else found).T


class LeastSquares(ABC):
    """What the forms have in common: rows, penalty, and coefficients for new rows.

    Parameters
    ----------
    rows : CentredRows
        The rows.
    penalty : float
        Ridge, in units of the rows' spread.
    levels : TaskLevels
        Of the tasks.
    """

    def __init__(self, rows: CentredRows, penalty: float, levels: TaskLevels) -> None:
        self.rows = rows
        self.levels = levels
        self._set_penalty(penalty)

    def _set_penalty(self, penalty: float) -> None:
        self.penalty = float(np.clip(penalty, *_PENALTIES))
        self.ridge = self.penalty * self.rows.spread

    def with_penalty(self, penalty: float) -> Self:
        """Another penalty, with the same rows and whatever is known of them.

        A form that solves by steps begins with the last solution and its factor.
        """
        out = copy(self)
        out._set_penalty(penalty)
        return out

    @abstractmethod
    def fit(
        self, target: np.ndarray, root: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, float, np.ndarray]]:
        """Fit labels times `root` by weights, which sum to more than zero.

        Kept are coefficients or multipliers of the rows, intercept and levels.
        """

    @abstractmethod
    def _primal(self, kept: Sequence[np.ndarray]) -> np.ndarray:
        """Coefficients from what fits keep of them, a row each."""

    def correlate(self, signed: np.ndarray) -> np.ndarray:
        """Scores that a step along the gradient gives: X X' times signed weights."""
        return self._products(signed)

    def _products(self, alpha: np.ndarray) -> np.ndarray:
        return self._add_levels(self.rows.forward(self.rows.backward(alpha)), alpha)

    def _add_levels(self, out: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Rows of a task have the spread more in common."""
        if self.levels.wanted:
            columns = alpha.reshape(len(alpha), -1)
            for k, column in enumerate(columns.T):
                level = self.rows.spread * self.levels.sums(column)
                out.reshape(len(alpha), -1)[:, k] += level[self.levels.task]
        return out

    def finish(
        self, kept: Sequence[Any], scales: np.ndarray, kind: str
    ) -> LinearHypotheses:
        """What `fit` kept of rounds, times their scales, for rows not centred."""
        coef = self._primal([a for a, _, _ in kept])
        intercept = np.array([b + c for _, b, c in kept])
        intercept = intercept - (coef @ self.rows.mean)[:, None]
        intercept = np.column_stack([intercept, intercept.mean(axis=1)])
        scales = scales[:, None]
        return LinearHypotheses(coef * scales, intercept * scales, kind)


class PrimalForm(LeastSquares):
    """For few features: normal equations, factored in each fit."""

    def fit(
        self, target: np.ndarray, root: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, float, np.ndarray]]:
        rows, weight, levels = self.rows, root * root, self.levels
        A = _weighted_gram(rows, root)
        right = rows.backward(root * target)
        sums, total, label = rows.backward(weight), weight.sum(), float(root @ target)
        if levels.wanted:
            # For given a and b, a level is a shrunken mean of what is left; put in,
            # it takes these terms away.
            of_task = levels.row_sums(rows.X, weight)
            weights, labels = levels.sums(weight), levels.sums(root * target)
            of_task -= np.outer(rows.offset, weights)
            shrunk = 1 / (weights + self.penalty)
            A -= (of_task * shrunk) @ of_task.T
            right -= of_task @ (shrunk * labels)
            sums = of_task @ (self.penalty * shrunk)
            total = weights @ (self.penalty * shrunk)
            label = float(labels @ (self.penalty * shrunk))
        mean = sums / total
        A -= total * np.outer(mean, mean)
        A[np.diag_indices_from(A)] += self.ridge
        right -= label * mean
        coef = cho_solve(_factor(A), right)
        intercept = label / total - float(mean @ coef)
        level = np.zeros(levels.n_tasks)
        if levels.wanted:
            level = shrunk * (labels - of_task.T @ coef - intercept * weights)
        scores = rows.forward(coef) + intercept + level[levels.task]
        return scores, (coef, intercept, level)

    def _primal(self, kept: Sequence[np.ndarray]) -> np.ndarray:
        return np.array(kept)


def _factor(A: np.ndarray) -> tuple[np.ndarray, bool]:
    """Cholesky factor, of a matrix that rounding may have made indefinite."""
    more = np.finfo(A.dtype).eps * np.diagonal(A).max()
    while True:
        try:
            return cho_factor(A, lower=True, check_finite=False)
        except LinAlgError:
            A[np.diag_indices_from(A)] += more
            more *= 10


def _weighted_gram(rows: CentredRows, root: np.ndarray) -> np.ndarray:
    """X' V X of centred rows, dense."""
    if not sp.issparse(rows.X):
        scaled = rows.X * root[:, None]
        return scaled.T @ scaled
    scaled = sp.csr_array(rows.X * root[:, None])
    A = (scaled.T @ scaled).toarray()
    weight = root * root
    raw = rows.transposed @ weight
    A -= np.outer(rows.offset, raw)
    A -= np.outer(raw, rows.offset)
    A += weight.sum() * np.outer(rows.offset, rows.offset)
    return A


class DualForm(LeastSquares):
    """For many features: a system of as many unknowns as rows.

    :math:`(S K S + \\rho I) z = S (l - b)` is solved by conjugate gradients. Their
    preconditioner is a Cholesky factor in single precision, which is kept over fits
    for as long as a few steps reach the tolerance with it; in the last fits of a round
    the weights hardly change. Without `factor`, products of rows are not kept, and
    nothing is factored. `tol` is the relative residual at which the steps end.
    """

    def __init__(
        self,
        rows: CentredRows,
        penalty: float,
        levels: TaskLevels,
        *,
        factor: bool = True,
        tol: float = 1e-8,
    ) -> None:
        super().__init__(rows, penalty, levels)
        self._K: Any = rows.gram() if factor else None
        if factor and levels.wanted:
            self._K += rows.spread * (levels.task[:, None] == levels.task)
        self._tol = tol
        self._factor: Any = None
        self._last: np.ndarray | None = None

    def _products(self, alpha: np.ndarray) -> np.ndarray:
        return super()._products(alpha) if self._K is None else self._K @ alpha

    def fit(
        self, target: np.ndarray, root: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, float, np.ndarray]]:
        z = self._solve(np.column_stack([target, root]), root)
        # the multipliers sum to zero, or the intercept could be better
        intercept = float(root @ z[:, 0]) / float(root @ z[:, 1])
        alpha = root * (z[:, 0] - intercept * z[:, 1])
        level = np.zeros(self.levels.n_tasks)
        if self.levels.wanted:
            level = self.rows.spread * self.levels.sums(alpha)
        return self._products(alpha) + intercept, (alpha, intercept, level)

    def _primal(self, kept: Sequence[np.ndarray]) -> np.ndarray:
        return np.ascontiguousarray(self.rows.backward(np.column_stack(kept)).T)

    def _solve(self, right: np.ndarray, root: np.ndarray) -> np.ndarray:
        def multiply(z: np.ndarray) -> np.ndarray:
            return root[:, None] * self._products(root[:, None] * z) + self.ridge * z

        start = np.zeros_like(right) if self._last is None else self._last
        if self._K is None:
            z, _ = _conjugate_gradients(
                multiply, right, start, lambda r: r, self._tol, 1000
            )
        else:
            z, done = start, False
            if self._factor is not None:
                z, done = _conjugate_gradients(
                    multiply, right, start, self._precondition, self._tol, _STALE_STEPS
                )
            if not done:
                self._factorize(root)
                z, _ = _conjugate_gradients(
                    multiply, right, z, self._precondition, self._tol, 50
                )
        self._last = z
        return z

    def _factorize(self, root: np.ndarray) -> None:
        single = root.astype(np.float32)
        # In units of the spread, or single precision would overflow for features of
        # 1e19. Conjugate gradients do not mind a preconditioner in other units.
        A = np.empty(self._K.shape, dtype=np.float32)
        np.multiply(self._K, 1 / self.rows.spread, out=A, casting="same_kind")
        A *= single[:, None]
        A *= single[None, :]
        diagonal = np.diag_indices_from(A)
        # rounding to single precision must not make the matrix indefinite
        A[diagonal] += np.float32(max(self.penalty, 1e-6 * float(A[diagonal].max())))
        self._factor = _factor(A)

    def _precondition(self, residual: np.ndarray) -> np.ndarray:
        solved = cho_solve(
            self._factor, residual.astype(np.float32), check_finite=False
        )
        return solved.astype(np.float64)


def _conjugate_gradients(
    multiply: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    start: np.ndarray,
    precondition: Callable[[np.ndarray], np.ndarray],
    tol: float,
    n_steps: int,
) -> tuple[np.ndarray, bool]:
    """Solve for all right-hand sides side by side; whether all have converged."""
    z = start.copy()
    residual = right - multiply(z)
    goal = tol * np.maximum(np.linalg.norm(right, axis=0), 1e-300)
    step, old = np.zeros_like(right), np.ones(right.shape[1])
    for number in range(n_steps + 1):
        if (np.linalg.norm(residual, axis=0) <= goal).all():
            return z, True
        if number == n_steps:
            break
        better = precondition(residual)
        new = np.einsum("ij,ij->j", residual, better)
        step = better + step * (new / old if number else 0.0)
        image = multiply(step)
        length = np.einsum("ij,ij->j", step, image)
        # a side that has converged to the last digit stays where it is
        along = np.divide(new, length, out=np.zeros_like(new), where=length > 0)
        z += along * step
        residual -= along * image
        old = np.where(new > 0, new, 1.0)
    return z, False


def make_least_squares(
    X: Any,
    weight: np.ndarray,
    penalty: float,
    levels: TaskLevels | None = None,
    form: str = "auto",
) -> LeastSquares:
    """The form that is cheapest for these rows, or the one that is named.

    `weight` is that of the rows for their mean and spread; without `levels` tasks have
    none.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.boosting.mtboost._least_squares import make_least_squares
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
    >>> learner = make_least_squares(X, np.ones(3), 1e-9)
    >>> learner.fit(y, np.ones(3))[0].round(3)
    array([1., 3., 5.])
    """
    rows = CentredRows(X, weight)
    if levels is None:
        levels = TaskLevels(np.zeros(X.shape[0]), 1, False)
    if form == "auto":
        form = _cheapest(rows)
    if form == "primal":
        return PrimalForm(rows, penalty, levels)
    return DualForm(rows, penalty, levels, factor=form == "dual")


def _cheapest(rows: CentredRows) -> str:
    n, d = rows.shape
    primal = (n * d**2 if not sp.issparse(rows.X) else _sparse_work(rows)) + d**3 / 3
    dual = n**3 / 3
    if 8 * d**2 > _MOST_BYTES:
        primal = np.inf
    if 8 * n**2 > _MOST_BYTES:
        dual = np.inf
    if min(primal, dual) > _MOST_WORK:
        return "iterative"
    return "primal" if primal <= dual else "dual"


def _sparse_work(rows: CentredRows) -> float:
    """Multiplications in X'X, each about as long as ten of a dense product."""
    return 10.0 * float((np.diff(rows.X.indptr).astype(float) ** 2).sum())
