r"""Cross products of a mixed model's columns: all that its likelihood needs of rows.

With F = [1, X, y] and the columns Z of each random term, they are F'WF, and for each
level of a term Z'WF and Z'WZ; for two terms, Z'WZ of each pair of levels that meet.
They are summed in one pass over chunks of rows, so that a step of the fit does not
depend on the number of rows.

X and y are centred at their means (where there is an intercept) and scaled in
:class:`Basis`, and so are slopes, as far as a change of basis leaves the kind of their
covariance as it is. That is for accuracy alone: results are given in the units of X.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn._kernels.linear._levels import add_products
from kinlearn.linear._sparse_columns import centre_columns, far_from_zero
from kinlearn.linear.mixed._terms import Term

__all__ = [
    "Basis",
    "CrossProducts",
    "Pairs",
    "independent_columns",
    "term_columns",
]

_CHUNK = 8192
_LEAST_SCALE = 1e-150  # its square is no zero
_CONSTANT = 1e-10  # spread of a column, relative to its size, that is rounding
_DEPENDENT = 1e-10  # of a column's square: what others do not explain
_PROPORTIONAL = 1e-12  # the same, of one other column


@dataclass(frozen=True, eq=False)
class Basis:
    """The columns that the engine works with, as functions of those of X.

    Attributes
    ----------
    terms : tuple of Term
        Random terms.
    intercept : bool
        Whether there is a fixed intercept.
    shift, scale : float64 arrays of shape (n_features,)
        The engine's X is ``(X - shift) / scale``.
    y_shift : float
        What is subtracted from y.
    term_shift, term_scale : lists of float64 arrays
        The same for the slopes of each term; the intercept comes first, as it is.
    """

    terms: tuple[Term, ...]
    intercept: bool
    shift: np.ndarray
    scale: np.ndarray
    y_shift: float
    term_shift: list[np.ndarray]
    term_scale: list[np.ndarray]

    def to_raw(self, coef: np.ndarray) -> tuple[float, np.ndarray]:
        """Intercept and coefficients in units of X, from [intercept, coefficients]."""
        raw = coef[1:] / self.scale
        return float(coef[0] + self.y_shift - raw @ self.shift), raw

    @property
    def fixed_map(self) -> np.ndarray:
        """Matrix that makes [intercept, coefficients] in units of X of the engine's."""
        J = np.diag(np.concatenate([[1.0], 1.0 / self.scale]))
        J[0, 1:] = -self.shift / self.scale
        return J

    def term_map(self, k: int) -> np.ndarray:
        """Matrix that makes effects in units of X of the engine's, for one term."""
        J = np.diag(1.0 / self.term_scale[k])
        J[0] -= self.term_shift[k] / self.term_scale[k]
        return J


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of levels of two terms that meet in a row.

    Attributes
    ----------
    terms : tuple of int
        The two terms; the first comes before the second.
    one, two : int32 arrays of shape (n_pairs,)
        Levels of the first and of the second term, sorted by these.
    values : float64 array of shape (n_pairs, q_one, q_two)
        Cross products.
    """

    terms: tuple[int, int]
    one: np.ndarray
    two: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class CrossProducts:
    """Sums over the rows.

    Attributes
    ----------
    basis : Basis
        Terms and units.
    n : float
        Sum of the weights: the number of rows.
    FF : float64 array of shape (p + 2, p + 2)
        Of [1, X, y].
    ZF : list of float64 arrays of shape (n_levels, q, p + 2)
        Of each term with [1, X, y].
    ZZ : list of float64 arrays of shape (n_levels, q, q)
        Of each term with itself.
    pairs : list of Pairs
        Of each two terms.
    n_rows : int
        Number of rows that have weight.
    """

    basis: Basis
    n: float
    FF: np.ndarray
    ZF: list[np.ndarray]
    ZZ: list[np.ndarray]
    pairs: list[Pairs] = field(default_factory=list)
    n_rows: int = 0

    @classmethod
    def of_rows(
        cls,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray | None,
        terms: Sequence[Term],
        codes: Sequence[np.ndarray],
        *,
        intercept: bool = True,
        basis: Basis | None = None,
    ) -> "CrossProducts":
        """Sum over rows; X is dense or sparse, `codes` are the rows' levels by term.

        With a `basis`, the columns are those of earlier rows, and sums can be added.
        """
        terms = list(terms)
        centre = (
            _centre(X, y, weight, terms, intercept)
            if basis is None
            else _unscaled(basis)
        )
        n = float(X.shape[0] if weight is None else weight.sum())
        P = X.shape[1] + 2
        FF = np.zeros((P, P))
        ZF = [np.zeros((t.n_levels, t.n_effects, P)) for t in terms]
        ZZ = [np.zeros((t.n_levels, t.n_effects, t.n_effects)) for t in terms]
        pairs, pair_codes = _find_pairs(terms, codes)
        shift = centre.shift
        if sp.issparse(X):
            X = X.tocsr()
            far = far_from_zero(X, weight, shift)
            shift = np.where(far, 0.0, shift)
        step = _CHUNK if not sp.issparse(X) else max(_CHUNK, 4_000_000 // P)
        for left in range(0, X.shape[0], step):
            rows = slice(left, left + step)
            w = None if weight is None else weight[rows]
            if sp.issparse(X):
                near = centre_columns(X[rows], centre.shift, far)
                F: Any = _sparse_block(near, y[rows] - centre.y_shift)
                WF = F if w is None else sp.diags_array(w) @ F
                FF += (F.T @ WF).toarray()
            else:
                F = _dense_block(X[rows], y[rows], centre)
                WF = F if w is None else F * w[:, None]
                FF += F.T @ WF
            Z = [term_columns(X[rows], t, centre, k) for k, t in enumerate(terms)]
            for k in range(len(terms)):
                _add(codes[k][rows], Z[k], WF, ZF[k])
                add_products(codes[k][rows], Z[k], _weighted(Z[k], w), ZZ[k])
            for found, c in zip(pairs, pair_codes, strict=True):
                k, m = found.terms
                add_products(c[rows], Z[k], _weighted(Z[m], w), found.values)
        if sp.issparse(X):
            _shift_columns(FF, ZF, shift)
        if basis is None:
            basis = _scaled(centre, FF, ZZ, n)
        _scale_columns(FF, ZF, ZZ, pairs, basis)
        n_rows = int(X.shape[0] if weight is None else np.count_nonzero(weight))
        return cls(basis, n, FF, ZF, ZZ, pairs, n_rows)

    @property
    def terms(self) -> tuple[Term, ...]:
        """Random terms."""
        return self.basis.terms

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return len(self.FF) - 2

    @property
    def target_sums(self) -> tuple[float, float, float]:
        """Number of rows, sum of their targets, and of their squares, in units of y."""
        shift, centred = self.basis.y_shift, float(self.FF[0, -1])
        total = centred + self.n * shift
        squares = float(self.FF[-1, -1]) + shift * (centred + total)
        return self.n, total, squares

    def met(self, one: int, two: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Levels of two terms that meet, and their products; the terms in any order."""
        found = next(f for f in self.pairs if set(f.terms) == {one, two})
        if found.terms == (one, two):
            return found.one, found.two, found.values
        values = np.ascontiguousarray(found.values.transpose(0, 2, 1))
        return found.two, found.one, values

    def independent_effects(self) -> list[np.ndarray]:
        """Effects of each term that rows can tell from those before them.

        Where covariances may be any, or of a given rank, a column that others of the
        term explain adds nothing to them. Variances without covariances add up only
        if one column is a multiple of another. One variance for all needs no choice.
        """
        kept = []
        for term, sums in zip(self.terms, self.ZZ, strict=True):
            G = sums.sum(axis=0)
            if term.covariance == "scaled_identity":
                kept.append(np.arange(term.n_effects))
            elif term.covariance == "diagonal":
                kept.append(_not_proportional(G, self.n))
            else:
                kept.append(independent_columns(G, self.n))
        return kept

    def with_effects(self, kept: Sequence[np.ndarray]) -> "CrossProducts":
        """These sums for some effects of each term, the intercept among them."""
        if all(len(k) == t.n_effects for k, t in zip(kept, self.terms, strict=True)):
            return self
        basis = replace(
            self.basis,
            terms=tuple(
                replace(term, columns=tuple(term.columns[a - 1] for a in k[1:]))
                for k, term in zip(kept, self.terms, strict=True)
            ),
            term_shift=[
                each[k] for k, each in zip(kept, self.basis.term_shift, strict=True)
            ],
            term_scale=[
                each[k] for k, each in zip(kept, self.basis.term_scale, strict=True)
            ],
        )
        ZF = [
            np.ascontiguousarray(sums[:, k])
            for k, sums in zip(kept, self.ZF, strict=True)
        ]
        ZZ = [
            np.ascontiguousarray(sums[:, k[:, None], k])
            for k, sums in zip(kept, self.ZZ, strict=True)
        ]
        pairs = []
        for each in self.pairs:
            one, two = (kept[k] for k in each.terms)
            values = np.ascontiguousarray(each.values[:, one[:, None], two])
            pairs.append(replace(each, values=values))
        return replace(self, basis=basis, ZF=ZF, ZZ=ZZ, pairs=pairs)

    @property
    def _means(self) -> np.ndarray:
        """Means of [X, y], in their own units."""
        basis, sums = self.basis, self.FF[0, 1:] / self.n
        shift, scale = np.append(basis.shift, basis.y_shift), np.append(basis.scale, 1)
        return shift + scale * sums

    def _in_units_of(self, basis: Basis) -> "CrossProducts":
        """These sums in other units; where these lie near, without loss of digits."""
        own, other = self.basis, basis
        a = np.concatenate([[1.0], own.scale / other.scale, [1.0]])
        d = (own.shift - other.shift) / other.scale
        d = np.concatenate([[0.0], d, [own.y_shift - other.y_shift]])
        maps = []
        for k in range(len(self.terms)):
            distance = own.term_shift[k] - other.term_shift[k]
            scale = other.term_scale[k]
            maps.append((own.term_scale[k] / scale, distance / scale))
        ZF = [
            _moved(_moved(sums, a, d), *each, axis=1)
            for sums, each in zip(self.ZF, maps, strict=True)
        ]
        ZZ = [
            _moved(_moved(sums, *each), *each, axis=1)
            for sums, each in zip(self.ZZ, maps, strict=True)
        ]
        pairs = []
        for found in self.pairs:
            k, m = found.terms
            values = _moved(_moved(found.values, *maps[m]), *maps[k], axis=1)
            pairs.append(replace(found, values=values))
        FF = _moved(_moved(self.FF, a, d), a, d, axis=0)
        basis = replace(basis, terms=self.terms)
        return replace(self, basis=basis, FF=FF, ZF=ZF, ZZ=ZZ, pairs=pairs)

    def merged(
        self, later: "CrossProducts", places: Sequence[np.ndarray]
    ) -> "CrossProducts":
        """The sums of all rows, in units of them all; see :meth:`added`."""
        n = self.n + later.n
        mean = (self.n * self._means + later.n * later._means) / n
        basis, terms = later.basis, later.terms
        centre = _unscaled(
            replace(
                basis,
                shift=mean[:-1] if basis.intercept else basis.shift,
                y_shift=float(mean[-1]) if basis.intercept else 0.0,
                term_shift=[
                    np.concatenate([[0.0], mean[list(t.columns)] * t.centred])
                    for t in terms
                ],
            )
        )
        both = self._in_units_of(centre).added(later._in_units_of(centre), places)
        basis = _scaled(centre, both.FF, both.ZZ, n)
        _scale_columns(both.FF, both.ZF, both.ZZ, both.pairs, basis)
        return replace(both, basis=basis)

    def added(
        self, later: "CrossProducts", places: Sequence[np.ndarray]
    ) -> "CrossProducts":
        """These sums and those of later rows, which have the same basis but levels.

        `places` are, by term, where the levels of these sums are among the later ones.
        """
        ZF = [sums.copy() for sums in later.ZF]
        ZZ = [sums.copy() for sums in later.ZZ]
        for k, place in enumerate(places):
            ZF[k][place] += self.ZF[k]
            ZZ[k][place] += self.ZZ[k]
        pairs = []
        for old, new in zip(self.pairs, later.pairs, strict=True):
            k, m = old.terms
            wide = later.terms[m].n_levels
            ones = [places[k][old.one], new.one]
            twos = [places[m][old.two], new.two]
            key = np.concatenate(ones).astype(np.int64) * wide + np.concatenate(twos)
            found, place = np.unique(key, return_inverse=True)
            values = np.zeros((len(found), *old.values.shape[1:]))
            np.add.at(values, place, np.concatenate([old.values, new.values]))
            one, two = (part.astype(np.int32) for part in np.divmod(found, wide))
            pairs.append(Pairs((k, m), one, two, values))
        FF, n = self.FF + later.FF, self.n + later.n
        n_rows = self.n_rows + later.n_rows
        return CrossProducts(later.basis, n, FF, ZF, ZZ, pairs, n_rows)


def term_columns(X: Any, term: Term, basis: Basis, k: int) -> np.ndarray:
    """Columns Z of a term for some rows: the intercept, and slopes in the basis."""
    Z = np.empty((X.shape[0], term.n_effects))
    Z[:, 0] = 1.0
    if term.columns:
        slopes = X[:, list(term.columns)]
        Z[:, 1:] = slopes.toarray() if sp.issparse(slopes) else slopes
        Z[:, 1:] -= basis.term_shift[k][1:]
        Z[:, 1:] /= basis.term_scale[k][1:]
    return Z


def independent_columns(A: np.ndarray, n: float) -> np.ndarray:
    """Columns that no earlier ones explain, from their cross products.

    Parameters
    ----------
    A : float64 array of shape (p, p)
        Cross products of columns with mean square 1.
    n : float
        Number of rows.

    Returns
    -------
    intp array
        Columns, ascending.
    """
    tolerance = _DEPENDENT * n
    try:
        root = np.linalg.cholesky(A)
        if (np.diag(root) ** 2 > tolerance).all():
            return np.arange(len(A))
    except np.linalg.LinAlgError:
        pass
    left, kept = A.copy(), []
    for j in range(len(A)):
        if left[j, j] <= tolerance:
            continue
        kept.append(j)
        column = left[j:, j] / np.sqrt(left[j, j])
        left[j:, j:] -= np.outer(column, column)
    return np.array(kept, dtype=np.intp)


def _not_proportional(A: np.ndarray, n: float) -> np.ndarray:
    """Columns that are not zero, and no multiples of earlier ones."""
    kept: list[int] = []
    for j in range(len(A)):
        square = A[j, j]
        explained = A[kept, j] ** 2 / A[kept, kept]
        if square > _DEPENDENT * n and (
            explained.max(initial=0.0) < (1.0 - _PROPORTIONAL) * square
        ):
            kept.append(j)
    return np.array(kept, dtype=np.intp)


def _moved(M: np.ndarray, a: np.ndarray, d: np.ndarray, axis: int = -1) -> np.ndarray:
    """Products with columns that are times a, plus d times the first, on an axis."""
    M = np.moveaxis(M, axis, -1) * a
    return np.ascontiguousarray(np.moveaxis(M + M[..., :1] * d, -1, axis))


def _weighted(Z: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    return Z if weight is None else Z * weight[:, None]


def _dense_block(X: np.ndarray, y: np.ndarray, basis: Basis) -> np.ndarray:
    """[1, X, y] of some rows, centred."""
    F = np.empty((X.shape[0], X.shape[1] + 2))
    F[:, 0] = 1.0
    np.subtract(X, basis.shift, out=F[:, 1:-1])
    np.subtract(y, basis.y_shift, out=F[:, -1])
    return F


def _sparse_block(X: Any, y: np.ndarray) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sp.hstack(
        [sp.csr_array(ones), sp.csr_array(X, dtype=np.float64), y[:, None]],
        format="csr",
    )


def _add(codes: np.ndarray, Z: np.ndarray, F: Any, out: np.ndarray) -> None:
    """Add outer products of rows of Z and F to their levels."""
    if not sp.issparse(F):
        add_products(codes, Z, F, out)
        return
    rows = np.arange(len(codes))
    for a in range(Z.shape[1]):
        shape = (out.shape[0], len(codes))
        sums = sp.csr_array((Z[:, a], (codes, rows)), shape=shape) @ F
        coo = sums.tocoo()
        out[coo.coords[0], a, coo.coords[1]] += coo.data


def _find_pairs(
    terms: Sequence[Term], codes: Sequence[np.ndarray]
) -> tuple[list[Pairs], list[np.ndarray]]:
    """Which levels of each two terms meet, and the pair of each row."""
    pairs, pair_codes = [], []
    for k, m in combinations(range(len(terms)), 2):
        wide = terms[m].n_levels
        key = codes[k].astype(np.int64) * wide + codes[m]
        found, place = np.unique(key, return_inverse=True)
        values = np.zeros((len(found), terms[k].n_effects, terms[m].n_effects))
        one, two = (part.astype(np.int32) for part in np.divmod(found, wide))
        pairs.append(Pairs((k, m), one, two, values))
        pair_codes.append(place.astype(np.int32))
    return pairs, pair_codes


def _centre(
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    terms: Sequence[Term],
    intercept: bool,
) -> Basis:
    """Means of the columns, where they may be subtracted; scales are not known yet."""
    p = X.shape[1]
    mean = np.zeros(p)
    total = X.shape[0] if weight is None else weight.sum()
    if sp.issparse(X):
        w = np.ones(X.shape[0]) if weight is None else weight
        mean = np.asarray(X.T @ w, dtype=np.float64).ravel() / total
    elif weight is None:
        mean = X.mean(axis=0, dtype=np.float64)
    else:
        for left in range(0, X.shape[0], _CHUNK):
            rows = slice(left, left + _CHUNK)
            mean += weight[rows] @ X[rows].astype(np.float64, copy=False)
        mean /= total
    term_shift = [
        np.concatenate([[0.0], mean[list(t.columns)] * t.centred]) for t in terms
    ]
    return Basis(
        terms=tuple(terms),
        intercept=intercept,
        shift=mean if intercept else np.zeros(p),
        scale=np.ones(p),
        y_shift=float(np.average(y, weights=weight)) if intercept else 0.0,
        term_shift=term_shift,
        term_scale=[np.ones(t.n_effects) for t in terms],
    )


def _shift_columns(FF: np.ndarray, ZF: list[np.ndarray], shift: np.ndarray) -> None:
    """Centre cross products of columns that were not centred (sparse ones)."""
    shift = np.concatenate([[0.0], shift, [0.0]])
    FF -= np.outer(shift, FF[0])
    FF -= np.outer(FF[:, 0], shift)
    for sums in ZF:
        sums -= sums[:, :, :1] * shift


def _unscaled(basis: Basis) -> Basis:
    return replace(
        basis,
        scale=np.ones_like(basis.scale),
        term_scale=[np.ones_like(scale) for scale in basis.term_scale],
    )


def _scaled(basis: Basis, FF: np.ndarray, ZZ: list[np.ndarray], n: float) -> Basis:
    """The basis with scales that make the columns' mean squares about 1.

    Those of constant columns stay next to nothing.
    """

    def scales(squares: np.ndarray, shift: np.ndarray) -> np.ndarray:
        size, mean = np.sqrt(np.maximum(squares, 0.0) / n), np.abs(shift)
        constant = np.where(mean > _LEAST_SCALE, mean, 1.0)
        varies = size > np.maximum(_CONSTANT * mean, _LEAST_SCALE)
        return np.where(varies, size, constant)

    term_scale = []
    for sums, term, shift in zip(ZZ, basis.terms, basis.term_shift, strict=True):
        size = scales(np.einsum("nqq->q", sums), shift)
        if term.covariance == "scaled_identity":
            size = np.ones_like(size)
        size[0] = 1.0
        term_scale.append(size)
    scale = scales(np.diag(FF)[1:-1], basis.shift)
    return replace(basis, scale=scale, term_scale=term_scale)


def _scale_columns(
    FF: np.ndarray,
    ZF: list[np.ndarray],
    ZZ: list[np.ndarray],
    pairs: list[Pairs],
    basis: Basis,
) -> None:
    """Divide the cross products by the scales of both columns."""
    scale = np.concatenate([[1.0], basis.scale, [1.0]])
    FF /= np.outer(scale, scale)
    for k, own in enumerate(basis.term_scale):
        ZF[k] /= np.outer(own, scale)
        ZZ[k] /= np.outer(own, own)
    for found in pairs:
        one, two = (basis.term_scale[k] for k in found.terms)
        values = found.values
        values /= np.outer(one, two)
