r"""Blocked penalised least squares: one block of the mixed model's equations.

With the effects as :math:`b = T u`, the equations are

.. math::
    \begin{bmatrix}
    T^\top Z^\top W Z T + I & T^\top Z^\top W X \\ X^\top W Z T & X^\top W X + P
    \end{bmatrix}
    \begin{bmatrix} u \\ \beta \end{bmatrix} =
    \begin{bmatrix} T^\top Z^\top W y \\ X^\top W y \end{bmatrix}.

The levels of the first term (that with the most effects) do not meet each other: their
part is block-diagonal, and eliminated level by level. What is left of a block, for the
effects of its other terms, is one dense matrix. What that leaves is of the *border*:
effects of common terms, and coefficients.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from kinlearn._kernels.linear._levels import (
    add_entries,
    divide_back,
    factor_levels,
    inverse_levels,
    subtract_levels,
    sum_products,
    transform,
)
from kinlearn.linear.mixed.equations._pattern import Block

__all__ = ["BlockFactor", "BlockInverse", "take_columns"]

_CHUNK = 8192  # levels


def take_columns(A: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Columns of small matrices; the matrices themselves if these come first."""
    first = np.array_equal(columns, np.arange(len(columns)))
    if first and len(columns) + 1 >= A.shape[2]:
        return A
    return np.ascontiguousarray(A[:, :, columns])


def _product(left: np.ndarray, A: np.ndarray, right: np.ndarray | None) -> np.ndarray:
    """``left.T @ A[i] @ right`` for all i."""
    width = A.shape[2] if right is None else right.shape[1]
    out = np.empty((len(A), left.shape[1], width))
    transform(np.ascontiguousarray(left), A, right, out)
    return out


@dataclass(frozen=True, eq=False)
class BlockInverse:
    """Parts of the inverse of the equations' matrix that belong to a block.

    Attributes
    ----------
    own : list of float64 arrays of shape (n_levels, width, width)
        Of each term: between the effects of a level.
    fixed : list of float64 arrays of shape (n_levels, width, n_fixed)
        Of each term: between the effects of a level and the coefficients.
    dense : float64 array of shape (n_dense + n_fixed, n_dense + n_fixed)
        Of the terms but the first, and the coefficients.
    entries : float64 array of shape (n_entries, width)
        Between levels of the first term and those of others that they meet.
    """

    own: list[np.ndarray]
    fixed: list[np.ndarray]
    dense: np.ndarray
    entries: np.ndarray


class BlockFactor:
    """The equations of a block for given T, factored.

    Parameters
    ----------
    block : Block
        Sums over the rows, and where things lie.
    T : list of float64 arrays of shape (n_effects, width)
        Of each term.

    Attributes
    ----------
    log_det : float
        Log determinant of what is eliminated.
    border : float64 array
        What it adds to the equations of common effects, coefficients and the target:
        the lower triangle counts.
    """

    def __init__(self, block: Block, T: list[np.ndarray]) -> None:
        self.cross, self.pattern, self.T = block.cross, block.pattern, T
        pattern = self.pattern
        columns = np.append(pattern.fixed, self.cross.n_features + 1)  # and y
        size = pattern.n_dense + pattern.n_fixed + 1
        D = np.zeros((size, size))
        self._fill_dense(D, columns)
        self.log_det = 0.0
        if pattern.order:
            self.log_det = self._eliminate(D, columns)
        m = pattern.n_own
        self._root, self._edge = np.zeros((0, 0)), np.zeros((0, size - m))
        self.border = D[m:, m:].copy()
        if m:
            root, info = lapack.dpotrf(D[:m, :m], lower=1, clean=1)
            if info != 0:
                self.log_det = np.nan
            logs = 2.0 * np.log(np.maximum(np.diag(root), 1e-300))
            self.log_det += logs.sum()
            self._root = root
            self._edge = lapack.dtrtrs(root, D[m:, :m].T, lower=1)[0]
            self.border -= self._edge.T @ self._edge

    def _fill_dense(self, D: np.ndarray, columns: np.ndarray) -> None:
        """Write the cross products of terms but the first into the lower triangle."""
        pattern, cross, m = self.pattern, self.cross, self.pattern.n_dense
        others = list(zip(pattern.order[1:], pattern.starts, strict=True))
        for i, (k, start) in enumerate(others):
            T, n = self.T[k], cross.terms[k].n_levels
            r = T.shape[1]
            blocks = _product(T, cross.ZZ[k], T)
            if start < pattern.n_own:
                blocks += np.eye(r)
            rows = start + np.arange(n)[:, None] * r + np.arange(r)
            D[rows[:, :, None], rows[:, None, :]] = blocks
            right = _product(T, take_columns(cross.ZF[k], columns), None)
            D[m:, start : start + n * r] = right.reshape(n * r, -1).T
            for j, begin in others[:i]:
                one, two, values = cross.met(k, j)
                blocks = _product(T, values, self.T[j])
                at = start + one[:, None].astype(np.intp) * r + np.arange(r)
                s = self.T[j].shape[1]
                to = begin + two[:, None].astype(np.intp) * s + np.arange(s)
                D[at[:, :, None], to[:, None, :]] = blocks

    def _eliminate(self, D: np.ndarray, columns: np.ndarray) -> float:
        """Eliminate the levels of the first term, and return their log determinant."""
        pattern, cross = self.pattern, self.cross
        first = pattern.order[0]
        T = self.T[first]
        r = T.shape[1]
        root = _product(T, cross.ZZ[first], T)
        root[:, np.arange(r), np.arange(r)] += 1.0
        R = _product(T, take_columns(cross.ZF[first], columns), None)
        V = np.empty((len(pattern.place), r))
        for k, begin in pattern.entries.items():
            blocks = _product(T, cross.met(first, k)[2], self.T[k])
            for c in range(blocks.shape[2]):
                V[begin + c] = blocks[:, :, c]
        log_det = factor_levels(root, R, V, pattern.indptr)
        m = pattern.n_dense
        if len(V):
            subtract_levels(R, V, pattern.indptr, pattern.place, m, D)
        flat = R.reshape(-1, R.shape[2])
        D[m:, m:] -= flat.T @ flat
        self._levels, self._R, self._V = root, R, V
        return log_det

    @cached_property
    def _divided(self) -> tuple[np.ndarray, np.ndarray]:
        """``M^-1 R`` and ``M^-1 V`` of the first term."""
        R, V = self._R, self._V
        divide_back(self._levels, R, V, self.pattern.indptr)
        del self._R, self._V  # they are changed
        return R, V

    def solve(self, border: np.ndarray) -> list[np.ndarray]:
        """Effects of each term, of shape (n_levels, width), for those of the border."""
        pattern, m = self.pattern, self.pattern.n_dense
        own = np.zeros(0)
        if pattern.n_own:
            own = self._edge[:, -1] - self._edge[:, :-1] @ border
            own = lapack.dtrtrs(self._root, own, lower=1, trans=1)[0]
        dense = np.concatenate([own, border])
        u: list[np.ndarray] = [np.zeros(0)] * len(self.T)
        for k, start in zip(pattern.order[1:], pattern.starts, strict=True):
            n, r = self.cross.terms[k].n_levels, self.T[k].shape[1]
            u[k] = dense[start : start + n * r].reshape(n, r)
        if pattern.order:
            W, U = self._divided
            first = W[:, :, :-1] @ dense[m:]
            if len(U):
                add_entries(U, pattern.indptr, pattern.place, dense[:m].copy(), first)
            u[pattern.order[0]] = W[:, :, -1] - first
        return u

    def combine(
        self, values: Sequence[np.ndarray], codes: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Eliminate the block's effects from combinations of effects.

        Parameters
        ----------
        values : list of float64 arrays of shape (n, width)
            Of each term: factors of the effects of one level.
        codes : list of intp arrays of shape (n,)
            The levels; -1 is none, and common terms do not count.

        Returns
        -------
        variance : float64 array of shape (n,)
            The part of the variance that does not depend on the border.
        border : float64 array of shape (n, n_border)
            What is to be added to the combinations of effects of the border.
        """
        pattern, m, n = self.pattern, self.pattern.n_dense, len(codes[0])
        g = np.zeros((n, m + pattern.n_fixed))
        for k, start in pattern.own:
            rows = np.flatnonzero(codes[k] >= 0)
            r = self.T[k].shape[1]
            places = start + codes[k][rows, None] * r + np.arange(r)
            g[rows[:, None], places] += values[k][rows]
        first = pattern.order[0]
        rows = np.flatnonzero(codes[first] >= 0)
        variance = np.zeros(n)
        variance[rows] = self._subtract(g, rows, codes[first][rows], values[first])
        border = g[:, pattern.n_own :]
        if pattern.n_own:
            half = lapack.dtrtrs(self._root, g[:, : pattern.n_own].T, lower=1)[0]
            variance += (half**2).sum(axis=0)
            border = border - half.T @ self._edge[:, :-1]
        return variance, border

    def _subtract(
        self, g: np.ndarray, rows: np.ndarray, levels: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        """The same for the first term; g is changed, and the variance returned."""
        W, U = self._divided
        v, m, indptr = v[rows], self.pattern.n_dense, self.pattern.indptr
        g[rows, m:] -= np.einsum("ir,irp->ip", v, W[levels][:, :, :-1])
        counts = (indptr[1:] - indptr[:-1])[levels]
        if counts.any():
            owner = np.repeat(np.arange(len(rows)), counts)
            begin = np.cumsum(counts) - counts
            entry = np.arange(len(owner)) - np.repeat(begin - indptr[levels], counts)
            moved = np.einsum("er,er->e", U[entry], v[owner])
            np.subtract.at(g, (rows[owner], self.pattern.place[entry]), moved)
        half = np.linalg.solve(self._levels[levels], v[:, :, None])[:, :, 0]
        return (half**2).sum(axis=1)

    def inverse(self, border: np.ndarray) -> BlockInverse:
        """Parts of the inverse, from that of the border."""
        pattern, m, p = self.pattern, self.pattern.n_dense, self.pattern.n_fixed
        C = border
        if pattern.n_own:
            found = lapack.dpotri(self._root, lower=1)[0]
            lower = np.tril(found)
            E = lapack.dtrtrs(self._root, self._edge[:, :-1], lower=1, trans=1)[0]
            EC = E @ border
            C = np.empty((m + p, m + p))
            n = pattern.n_own
            C[:n, :n] = lower + np.tril(lower, -1).T + EC @ E.T
            C[:n, n:], C[n:, :n], C[n:, n:] = -EC, -EC.T, border
        own: list[np.ndarray] = [np.zeros(0)] * len(self.T)
        to_fixed: list[np.ndarray] = [np.zeros(0)] * len(self.T)
        for k, start in zip(pattern.order[1:], pattern.starts, strict=True):
            n, r = self.cross.terms[k].n_levels, self.T[k].shape[1]
            rows = start + np.arange(n)[:, None] * r + np.arange(r)
            own[k] = C[rows[:, :, None], rows[:, None, :]]
            to_fixed[k] = C[start : start + n * r, m:].reshape(n, r, p)
        entries = np.zeros((0, 0))
        if pattern.order:
            W, U = self._divided
            first = pattern.order[0]
            own[first] = np.empty(self._levels.shape)
            flat = W.reshape(-1, p + 1)[:, :p] @ -C[m:, m:]
            to_fixed[first] = flat.reshape(*W.shape[:2], p)
            entries = np.empty(U.shape)
            inverse_levels(
                self._levels,
                W,
                U,
                pattern.indptr,
                pattern.place,
                C,
                m,
                own[first],
                to_fixed[first],
                entries,
            )
        return BlockInverse(own, to_fixed, C, entries)

    def gradients(
        self, inverse: BlockInverse, fixed: bool, u: list[np.ndarray], beta: np.ndarray
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """What the block adds to derivatives by T of log determinant and residual."""
        cross, pattern, T = self.cross, self.pattern, self.T
        by_det, rest = [], []
        for k, term in enumerate(cross.terms):
            G = np.zeros((term.n_effects, T[k].shape[1]))
            eye, transposed = np.eye(T[k].shape[1]), T[k].T.copy()
            for left in range(0, term.n_levels, _CHUNK):  # for the sake of memory
                part = slice(left, left + _CHUNK)
                spread = _product(eye, inverse.own[k][part], transposed)
                sum_products(cross.ZZ[k][part], spread, G)
            used = take_columns(cross.ZF[k], pattern.fixed)
            if fixed:
                sum_products(used, np.ascontiguousarray(inverse.fixed[k]), G)
            by_det.append(G)
            own = u[k] @ T[k].T
            rest.append(
                cross.ZF[k][:, :, -1]
                - used[:, :, : len(beta)] @ beta
                - np.einsum("nab,nb->na", cross.ZZ[k], own)
            )
        for k in range(len(T)):
            for j in range(k + 1, len(T)):
                self._add_pairs(k, j, inverse, u, by_det, rest)
        by_residual = [-2.0 * rest[k].T @ u[k] for k in range(len(T))]
        return [2.0 * G for G in by_det], by_residual

    def _add_pairs(
        self,
        k: int,
        j: int,
        inverse: BlockInverse,
        u: list[np.ndarray],
        by_det: list[np.ndarray],
        rest: list[np.ndarray],
    ) -> None:
        """Add what two terms mean for each other's derivatives."""
        pattern = self.pattern
        if pattern.order[0] in (k, j):
            k, j = (k, j) if pattern.order[0] == k else (j, k)
            one, two, values = self.cross.met(k, j)
            begin = pattern.entries[j]
            columns = range(self.T[j].shape[1])
            # between the level of k and that of j: (n_pairs, width_j, width_k)
            C = np.stack([inverse.entries[begin + c] for c in columns], axis=1)
        else:
            one, two, values = self.cross.met(k, j)
            start = dict(zip(pattern.order[1:], pattern.starts, strict=True))
            r, s = self.T[k].shape[1], self.T[j].shape[1]
            at = start[k] + one[:, None].astype(np.intp) * r + np.arange(r)
            to = start[j] + two[:, None].astype(np.intp) * s + np.arange(s)
            C = inverse.dense[to[:, :, None], at[:, None, :]]
        left = np.einsum("nab,bc->nac", values, self.T[j])
        by_det[k] += np.einsum("nac,ncd->ad", left, C, optimize=True)
        right = np.einsum("nab,ac->nbc", values, self.T[k])
        by_det[j] += np.einsum("nbc,ndc->bd", right, C, optimize=True)
        for a in range(values.shape[1]):
            moved = np.einsum("nc,nc->n", left[:, a], u[j][two])
            rest[k][:, a] -= np.bincount(one, moved, minlength=len(rest[k]))
        for b in range(values.shape[2]):
            moved = np.einsum("nc,nc->n", right[:, b], u[k][one])
            rest[j][:, b] -= np.bincount(two, moved, minlength=len(rest[j]))
