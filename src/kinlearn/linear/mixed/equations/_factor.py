"""The mixed model's equations for given T: all blocks, and the border that they share.

The border are effects of terms that are common to all blocks, and the coefficients.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from kinlearn.linear.mixed._cross_products import CrossProducts
from kinlearn.linear.mixed.equations._block_factor import BlockFactor
from kinlearn.linear.mixed.equations._pattern import Blocks

__all__ = ["Factor", "Inverse", "Solution"]


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
    fixed : float64 array of shape (n_fixed, n_fixed)
        Of the coefficients.
    """

    own: list[np.ndarray]
    fixed: np.ndarray


class Factor:
    """The equations for given T, factored.

    Parameters
    ----------
    blocks : Blocks
        Sums over the rows, and where things lie.
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
        self, blocks: Blocks, T: list[np.ndarray], penalty: np.ndarray
    ) -> None:
        self.blocks, self.T = blocks, T
        cross, fixed = blocks.cross, blocks.fixed
        self._each = [BlockFactor(block, T) for block in blocks.each]
        m, p = blocks.n_common, len(fixed)
        columns = np.append(fixed, len(cross.FF) - 1)  # and y
        D = np.zeros((m + p + 1, m + p + 1))
        for each in self._each:
            D += each.border
        D[m:, m:] += cross.FF[np.ix_(columns, columns)]
        D[np.arange(m), np.arange(m)] += 1.0
        D[np.arange(m, m + p), np.arange(m, m + p)] += penalty
        self.log_det_random = sum(each.log_det for each in self._each)
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

    @property
    def cross(self) -> CrossProducts:
        """Sums over the rows."""
        return self.blocks.cross

    @property
    def fixed(self) -> np.ndarray:
        """Columns of [1, X] that have coefficients."""
        return self.blocks.fixed

    def solve(self) -> Solution:
        """Effects and coefficients."""
        border, parts = self._solve()
        u = [
            self.blocks.collect(k, [each[k] for each in parts])
            for k in range(len(self.T))
        ]
        return Solution(u, border[self.blocks.n_common :])

    def _solve(self) -> tuple[np.ndarray, list[list[np.ndarray]]]:
        """Effects of the border, and of each block by term."""
        border = self._right
        if len(border):
            border = lapack.dtrtrs(self._root, border, lower=1, trans=1)[0]
        return border, [each.solve(border) for each in self._each]

    def inverse(self, fixed: bool = True) -> Inverse:
        """Parts of the inverse; without `fixed`, as if coefficients were known."""
        C = self.border_inverse(fixed)
        parts = [each.inverse(C).own for each in self._each]
        own = [
            self.blocks.collect(k, [each[k] for each in parts])
            for k in range(len(self.T))
        ]
        m = self.blocks.n_common
        return Inverse(own, C[m:, m:])

    def fixed_inverse(self) -> np.ndarray:
        """The part of the inverse that belongs to the coefficients."""
        m = self.blocks.n_common
        return self.border_inverse(True)[m:, m:]

    def border_inverse(self, fixed: bool = True) -> np.ndarray:
        """The part of the inverse that belongs to common effects and coefficients."""
        C = np.zeros(self._root.shape)
        size = len(C) if fixed else self.blocks.n_common
        if size:
            found = lapack.dpotri(self._root[:size, :size], lower=1)[0]
            lower = np.tril(found)
            C[:size, :size] = lower + np.tril(lower, -1).T
        return C

    def gradients(self, fixed: bool) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Derivatives by each T of the log determinant and of the residual.

        With `fixed`, the determinant is that of the whole matrix, otherwise of its
        upper left part.
        """
        border, effects = self._solve()
        beta, C = border[self.blocks.n_common :], self.border_inverse(fixed)
        by_det = [np.zeros_like(T) for T in self.T]
        by_residual = [np.zeros_like(T) for T in self.T]
        for each, u in zip(self._each, effects, strict=True):
            one, two = each.gradients(each.inverse(C), fixed, u, beta)
            for k in range(len(self.T)):
                by_det[k] += one[k]
                by_residual[k] += two[k]
        return by_det, by_residual

    def variance(
        self,
        fixed: np.ndarray,
        values: Sequence[np.ndarray],
        codes: Sequence[np.ndarray],
        border_inverse: np.ndarray,
    ) -> np.ndarray:
        """Variance of combinations of effects, relative to the residual's.

        Parameters
        ----------
        fixed : float64 array of shape (n, n_fixed)
            Factors of the coefficients.
        values : list of float64 arrays of shape (n, width)
            Of each term: factors of the effects of one level.
        codes : list of int32 arrays of shape (n,)
            The levels; -1 is none.
        border_inverse : float64 array
            The inverse's part of common effects and coefficients.

        Returns
        -------
        float64 array of shape (n,)
            Variances.
        """
        blocks, m = self.blocks, self.blocks.n_common
        n, common = len(fixed), blocks.first.common
        g = np.zeros((n, m + fixed.shape[1]))
        g[:, m:] = fixed
        for k, start in common:
            rows, r = np.flatnonzero(codes[k] >= 0), self.T[k].shape[1]
            places = start + codes[k][rows, None].astype(np.intp) * r + np.arange(r)
            g[rows[:, None], places] += values[k][rows]
        variance = np.zeros(n)
        for b, rows, own in self._by_block(codes, {k for k, _ in common}):
            alone, border = self._each[b].combine([v[rows] for v in values], own)
            variance[rows] += alone
            g[rows] += border
        return variance + np.einsum("ij,ij->i", g @ border_inverse, g)

    def _by_block(self, codes: Sequence[np.ndarray], common: set[int]) -> list[tuple]:
        """Rows that have levels of a block: its number, the rows, and the levels."""
        terms = [k for k in range(len(codes)) if k not in common]
        if len(self._each) == 1:
            rows = np.arange(len(codes[0])) if terms else np.zeros(0, dtype=np.intp)
            return [(0, rows, [c.astype(np.intp) for c in codes])] if len(rows) else []
        n = len(codes[0])
        numbers, keys = {}, [np.zeros(0, dtype=np.intp)]
        for k in terms:
            known = np.flatnonzero(codes[k] >= 0)
            block, number = (each[codes[k][known]] for each in self.blocks.places[k])
            numbers[k] = known, block, number
            keys.append(block * n + known)
        block, row = np.divmod(np.unique(np.concatenate(keys)), n)
        out = []
        for b, rows in zip(*_groups(block, row), strict=True):
            own = [np.full(len(rows), -1) for _ in codes]
            for k, (known, whose, number) in numbers.items():
                mine = whose == b
                own[k][np.searchsorted(rows, known[mine])] = number[mine]
            out.append((b, rows, own))
        return out


def _groups(numbers: np.ndarray, values: np.ndarray) -> tuple[list[int], list]:
    """Values by number; numbers ascend."""
    found, start = np.unique(numbers, return_index=True)
    return found.tolist(), np.split(values, start[1:]) if len(found) else []
