r"""Blocked penalised least squares: the mixed model's equations for given T.

With the effects as :math:`b = T u`, the equations are

.. math::
    \begin{bmatrix}
    T^\top Z^\top W Z T + I & T^\top Z^\top W X \\ X^\top W Z T & X^\top W X + P
    \end{bmatrix}
    \begin{bmatrix} u \\ \beta \end{bmatrix} =
    \begin{bmatrix} T^\top Z^\top W y \\ X^\top W y \end{bmatrix}.

The levels of the first term (that with the most effects) do not meet each other: their
part is block-diagonal, and eliminated level by level. What is left, for the effects of
all other terms and for the fixed ones, is one dense matrix.
"""

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
from kinlearn.linear.mixed._cross_products import CrossProducts

__all__ = ["Factor", "Inverse", "Pattern", "Solution"]

_MOST_DENSE = 20_000  # rows of a dense matrix: 3.2 GB
_CHUNK = 8192  # levels


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where the effects of all terms lie in the blocks; the same for every T.

    Attributes
    ----------
    order : list of int
        Terms in the order of elimination: the first is block-diagonal.
    starts : list of int
        First row of each of the other terms in the dense matrix.
    n_dense : int
        Rows of the dense matrix before the fixed effects.
    fixed : intp array
        Columns of [1, X] that have coefficients.
    indptr : intp array of shape (n_levels + 1,)
        Boundaries of the first term's levels among the entries.
    place : intp array of shape (n_entries,)
        Row of the dense matrix that an entry stands for.
    entries : dict from int to intp array
        Of a term: the first entry of each of its pairs with the first term.
    """

    order: list[int]
    starts: list[int]
    n_dense: int
    fixed: np.ndarray
    indptr: np.ndarray
    place: np.ndarray
    entries: dict[int, np.ndarray]

    @classmethod
    def find(cls, cross: CrossProducts, fixed: np.ndarray) -> "Pattern":
        """The pattern of some cross products."""
        terms = cross.terms
        sizes = [t.n_levels * t.width for t in terms]
        order = sorted(range(len(terms)), key=lambda k: -sizes[k])
        ends = np.cumsum([0] + [sizes[k] for k in order[1:]])
        n_dense = int(ends[-1])
        if n_dense + len(fixed) > _MOST_DENSE:
            names = ", ".join(repr(terms[k].name) for k in order[1:])
            raise ValueError(
                f"The groupings {names} have {n_dense} effects together, and "
                f"{len(fixed)} columns are fixed: a dense matrix of "
                f"{8e-9 * (n_dense + len(fixed)) ** 2:.0f} GB. At most "
                f"{_MOST_DENSE} are possible beside the grouping with the most "
                "levels. Leave out slopes, or groupings with many levels."
            )
        starts = ends[:-1].tolist()
        if not terms:
            none = np.zeros(0, dtype=np.intp)
            return cls([], [], 0, fixed, np.zeros(1, dtype=np.intp), none, {})
        first = order[0]
        one, where, width, owner = [], [], [], []
        for start, k in zip(starts, order[1:], strict=True):
            found = cross.met(first, k)
            r = terms[k].width
            one.append(found[0])
            where.append(start + found[1].astype(np.intp) * r)
            width.append(np.full(len(found[0]), r))
            owner.append(np.full(len(found[0]), k))
        entries: dict[int, np.ndarray] = {}
        counts = np.zeros(terms[first].n_levels, dtype=np.intp)
        place = np.zeros(0, dtype=np.intp)
        if one:
            level, at, wide, whose = map(np.concatenate, (one, where, width, owner))
            sort = np.lexsort((at, level))
            begin = np.empty(len(level), dtype=np.intp)
            begin[sort] = np.cumsum(wide[sort]) - wide[sort]
            entries = {k: begin[whose == k] for k in order[1:]}
            counts = np.bincount(level, weights=wide, minlength=len(counts))
            within = np.arange(wide.sum()) - np.repeat(begin[sort], wide[sort])
            place = np.repeat(at[sort], wide[sort]) + within
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        return cls(order, starts, n_dense, fixed, indptr, place, entries)

    @property
    def n_fixed(self) -> int:
        """Number of coefficients."""
        return len(self.fixed)


def _take_columns(A: np.ndarray, columns: np.ndarray) -> np.ndarray:
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
class Solution:
    """Solution of the equations.

    Attributes
    ----------
    u : list of float64 arrays of shape (n_levels, width)
        Of each term, in the order of the terms.
    beta : float64 array of shape (n_fixed,)
        Coefficients of the columns in use.
    """

    u: list[np.ndarray]
    beta: np.ndarray


@dataclass(frozen=True, eq=False)
class Inverse:
    """Parts of the inverse of the equations' matrix.

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


class Factor:
    """The equations for given T, factored.

    Parameters
    ----------
    cross : CrossProducts
        Sums over the rows.
    pattern : Pattern
        Where things lie.
    T : list of float64 arrays of shape (n_effects, width)
        Of each term.
    penalty : float64 array of shape (n_fixed,)
        What is added to the diagonal of X'WX.

    Attributes
    ----------
    log_det_random : float
        Log determinant of the upper left part of the matrix.
    log_det_fixed : float
        That of what is left of the lower right part.
    residual : float
        Least value of the penalised sum of squares.
    """

    def __init__(
        self,
        cross: CrossProducts,
        pattern: Pattern,
        T: list[np.ndarray],
        penalty: np.ndarray,
    ) -> None:
        self.cross, self.pattern, self.T = cross, pattern, T
        columns = np.append(pattern.fixed, len(cross.FF) - 1)  # and y
        m, p = pattern.n_dense, pattern.n_fixed
        D = np.zeros((m + p + 1, m + p + 1))
        D[m:, m:] = cross.FF[np.ix_(columns, columns)]
        D[np.arange(m, m + p), np.arange(m, m + p)] += penalty
        self._fill_dense(D, columns)
        self.log_det_random = 0.0
        if pattern.order:
            self.log_det_random = self._eliminate(D, columns)
        root, info = lapack.dpotrf(D[:-1, :-1], lower=1, clean=1)
        if info != 0:
            self.log_det_random = np.nan
        self._root = root
        logs = 2.0 * np.log(np.maximum(np.diag(root), 1e-300))
        self.log_det_random += logs[:m].sum()
        self.log_det_fixed = logs[m:].sum()
        self._right = (
            lapack.dtrtrs(root, D[-1, :-1], lower=1)[0] if m + p else D[-1, :0]
        )
        self.residual = float(D[-1, -1] - self._right @ self._right)

    def _fill_dense(self, D: np.ndarray, columns: np.ndarray) -> None:
        """Write the cross products of terms but the first into the lower triangle."""
        pattern, cross, m = self.pattern, self.cross, self.pattern.n_dense
        others = list(zip(pattern.order[1:], pattern.starts, strict=True))
        for i, (k, start) in enumerate(others):
            T, n = self.T[k], cross.terms[k].n_levels
            r = T.shape[1]
            blocks = _product(T, cross.ZZ[k], T) + np.eye(r)
            rows = start + np.arange(n)[:, None] * r + np.arange(r)
            D[rows[:, :, None], rows[:, None, :]] = blocks
            right = _product(T, _take_columns(cross.ZF[k], columns), None)
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
        R = _product(T, _take_columns(cross.ZF[first], columns), None)
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

    def solve(self) -> Solution:
        """Effects and coefficients."""
        pattern, m = self.pattern, self.pattern.n_dense
        dense = self._right
        if len(dense):
            dense = lapack.dtrtrs(self._root, self._right, lower=1, trans=1)[0]
        u: list[np.ndarray] = [np.zeros(0)] * len(self.T)
        for k, start in zip(pattern.order[1:], pattern.starts, strict=True):
            n, r = self.cross.terms[k].n_levels, self.T[k].shape[1]
            u[k] = dense[start : start + n * r].reshape(n, r)
        beta = dense[m:]
        if pattern.order:
            W, U = self._divided
            own = W[:, :, :-1] @ beta
            if len(U):
                add_entries(U, pattern.indptr, pattern.place, dense[:m].copy(), own)
            u[pattern.order[0]] = W[:, :, -1] - own
        return Solution(u, beta)

    def subtract_from(
        self, g: np.ndarray, rows: np.ndarray, levels: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        """Eliminate levels of the first term from combinations of all effects.

        The combinations are v of the effects of a level and g (changed: `rows` of it)
        of those in the dense matrix. Returned is the part of their variance that does
        not depend on the latter.
        """
        W, U = self._divided
        m, indptr = self.pattern.n_dense, self.pattern.indptr
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

    def inverse(self, fixed: bool = True) -> Inverse:
        """Parts of the inverse; without `fixed`, as if coefficients were known."""
        pattern, m, p = self.pattern, self.pattern.n_dense, self.pattern.n_fixed
        size = m + p if fixed else m
        C = np.zeros((m + p, m + p))
        if size:
            found = lapack.dpotri(self._root[:size, :size], lower=1)[0]
            lower = np.tril(found)
            C[:size, :size] = lower + np.tril(lower, -1).T
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
        return Inverse(own, to_fixed, C, entries)

    def gradients(
        self, fixed: bool, solution: Solution
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Derivatives by each T of the log determinant and of the residual.

        With `fixed`, the determinant is that of the whole matrix, otherwise of its
        upper left part.
        """
        cross, pattern, T = self.cross, self.pattern, self.T
        inverse = self.inverse(fixed)
        by_det, by_residual, rest = [], [], []
        for k, term in enumerate(cross.terms):
            G = np.zeros((term.n_effects, T[k].shape[1]))
            eye, transposed = np.eye(T[k].shape[1]), T[k].T.copy()
            for left in range(0, term.n_levels, _CHUNK):  # for the sake of memory
                part = slice(left, left + _CHUNK)
                spread = _product(eye, inverse.own[k][part], transposed)
                sum_products(cross.ZZ[k][part], spread, G)
            used = _take_columns(cross.ZF[k], pattern.fixed)
            if fixed:
                sum_products(used, np.ascontiguousarray(inverse.fixed[k]), G)
            by_det.append(G)
            own = solution.u[k] @ T[k].T
            rest.append(
                cross.ZF[k][:, :, -1]
                - used[:, :, : len(solution.beta)] @ solution.beta
                - np.einsum("nab,nb->na", cross.ZZ[k], own)
            )
        for k in range(len(T)):
            for j in range(k + 1, len(T)):
                self._add_pairs(k, j, inverse, solution, by_det, rest)
        for k in range(len(T)):
            by_residual.append(-2.0 * rest[k].T @ solution.u[k])
        return [2.0 * G for G in by_det], by_residual

    def _add_pairs(
        self,
        k: int,
        j: int,
        inverse: Inverse,
        solution: Solution,
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
            moved = np.einsum("nc,nc->n", left[:, a], solution.u[j][two])
            rest[k][:, a] -= np.bincount(one, moved, minlength=len(rest[k]))
        for b in range(values.shape[2]):
            moved = np.einsum("nc,nc->n", right[:, b], solution.u[k][one])
            rest[j][:, b] -= np.bincount(two, moved, minlength=len(rest[j]))
