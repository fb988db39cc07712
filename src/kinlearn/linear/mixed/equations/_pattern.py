"""Which levels meet, and where their effects lie in the matrices.

Schools, with their classes and pupils, have nothing in common but the fixed effects,
and those of groupings with few levels, such as years, which are *common* then. Such
*blocks* of levels are eliminated one after the other, whatever their number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from kinlearn.linear.mixed._cross_products import CrossProducts, Pairs

__all__ = ["Block", "Blocks", "Pattern"]

_MOST_DENSE = 20_000  # rows of a dense matrix: 3.2 GB
_WIDTH = 128  # effects that blocks are joined to: matrices that a cache holds


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where the effects of all terms lie in a block's matrices; the same for every T.

    Attributes
    ----------
    order : list of int
        Terms in the order of elimination: levels of the first do not meet, and the
        last are common to all blocks.
    n_common : int
        Number of the latter.
    starts : list of int
        First row of each term but the first in the dense matrix.
    n_own, n_dense : int
        Rows of the dense matrix before the common effects, and before the fixed ones.
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
    n_common: int
    starts: list[int]
    n_own: int
    n_dense: int
    fixed: np.ndarray
    indptr: np.ndarray
    place: np.ndarray
    entries: dict[int, np.ndarray]

    @classmethod
    def find(
        cls, cross: CrossProducts, order: list[int], n_common: int, fixed: np.ndarray
    ) -> "Pattern":
        """The pattern of some cross products."""
        terms = cross.terms
        sizes = [t.n_levels * t.width for t in terms]
        ends = np.cumsum([0] + [sizes[k] for k in order[1:]])
        n_dense = int(ends[-1])
        n_own = int(ends[max(len(order) - 1 - n_common, 0)])
        starts = ends[:-1].tolist()
        if not terms:
            none = np.zeros(0, dtype=np.intp)
            return cls([], 0, [], 0, 0, fixed, np.zeros(1, np.intp), none, {})
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
        return cls(
            order, n_common, starts, n_own, n_dense, fixed, indptr, place, entries
        )

    @property
    def n_fixed(self) -> int:
        """Number of coefficients."""
        return len(self.fixed)

    @property
    def own(self) -> list[tuple[int, int]]:
        """Terms but the first and the common ones, and where they start."""
        return list(zip(self.order[1:], self.starts, strict=True))[: self._n_between]

    @property
    def common(self) -> list[tuple[int, int]]:
        """Common terms, and where they start among the common effects."""
        found = zip(self.order[1:], self.starts, strict=True)
        return [(k, at - self.n_own) for k, at in list(found)[self._n_between :]]

    @property
    def _n_between(self) -> int:
        return max(len(self.order) - 1 - self.n_common, 0)


@dataclass(frozen=True, eq=False)
class Block:
    """Levels that meet each other, and no others but common ones.

    Attributes
    ----------
    levels : list of intp arrays
        Of each term, ascending.
    cross : CrossProducts
        Their sums. Those of common levels are all in the first block, and those of
        fixed columns in none.
    pattern : Pattern
        Where their effects lie.
    """

    levels: list[np.ndarray]
    cross: CrossProducts
    pattern: Pattern


@dataclass(frozen=True, eq=False)
class Blocks:
    """All levels, in blocks.

    Attributes
    ----------
    cross : CrossProducts
        Sums over the rows.
    fixed : intp array
        Columns of [1, X] that have coefficients.
    each : list of Block
        The blocks.
    """

    cross: CrossProducts
    fixed: np.ndarray
    each: list[Block]

    @classmethod
    def find(cls, cross: CrossProducts, fixed: np.ndarray) -> "Blocks":
        """The blocks of some cross products."""
        terms = cross.terms
        sizes = [t.n_levels * t.width for t in terms]
        order = sorted(range(len(terms)), key=lambda k: -sizes[k])
        n_common, found = _choose(cross, order, len(fixed))
        if found is None:
            every = [np.arange(t.n_levels) for t in terms]
            one = Block(every, cross, Pattern.find(cross, order, n_common, fixed))
            return cls(cross, fixed, [one])
        common = order[len(order) - n_common :]
        each = [
            Block(levels, part, Pattern.find(part, order, n_common, fixed))
            for levels, part in _parts(cross, found, common)
        ]
        return cls(cross, fixed, each)

    @property
    def first(self) -> Pattern:
        """The pattern of the first block: terms and common effects are those of all."""
        return self.each[0].pattern

    @property
    def n_common(self) -> int:
        """Effects of terms that are common to all blocks."""
        return self.first.n_dense - self.first.n_own

    @property
    def widest(self) -> int:
        """Rows of the largest dense matrix."""
        return max(each.pattern.n_dense for each in self.each) + len(self.fixed)

    @cached_property
    def places(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each term, the block of a level, and its number there."""
        out = []
        for k, term in enumerate(self.cross.terms):
            block, number = np.zeros((2, term.n_levels), dtype=np.intp)
            for b, each in enumerate(self.each):
                block[each.levels[k]] = b
                number[each.levels[k]] = np.arange(len(each.levels[k]))
            out.append((block, number))
        return out

    def collect(self, k: int, parts: Sequence[np.ndarray]) -> np.ndarray:
        """One array for the levels of a term, from those of the blocks."""
        if len(parts) == 1:
            return parts[0]
        out = np.empty((self.cross.terms[k].n_levels, *parts[0].shape[1:]))
        for block, part in zip(self.each, parts, strict=True):
            out[block.levels[k]] = part
        return out


def _choose(
    cross: CrossProducts, order: Sequence[int], n_fixed: int
) -> tuple[int, list[np.ndarray] | None]:
    """How many terms, the last of the order, are common, and the levels' blocks.

    That with the least work is chosen; None is one block of all levels.
    """
    terms = cross.terms
    sizes = [terms[k].n_levels * terms[k].width for k in order]
    n_dense = sum(sizes[1:])
    if n_dense <= 2 * _WIDTH:
        return 0, None
    best: tuple[float, int, int, list[np.ndarray] | None] = (np.inf, 0, 0, None)
    for n_common in range(len(order)):
        border = n_fixed + sum(sizes[len(order) - n_common :])
        blocks, width = _find(cross, order, n_common, max(_WIDTH, border))
        work = float((width**3 + width**2 * border + width * border**2).sum())
        work += border**3
        largest = int(width.max(initial=0)) + border
        if best[0] > work:
            best = work, largest, n_common, blocks if len(width) > 1 else None
    _, largest, n_common, found = best
    if largest > _MOST_DENSE:
        names = ", ".join(repr(terms[k].name) for k in order[1:])
        raise ValueError(
            f"The groupings {names} have {n_dense} effects together, of which "
            f"{largest - n_fixed} meet each other, and {n_fixed} columns are fixed: a "
            f"dense matrix of {8e-9 * largest**2:.0f} GB. At most {_MOST_DENSE} are "
            "possible beside the grouping with the most levels. Leave out slopes, or "
            "groupings with many levels."
        )
    return n_common, found


def _find(
    cross: CrossProducts, order: Sequence[int], n_common: int, least: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """The block of each level by term, and how many effects the blocks have.

    Those of the first term do not count. Blocks of few effects are joined.
    """
    terms = cross.terms
    wide = np.array([t.width for t in terms])
    common = set(order[len(order) - n_common :])
    wide[[order[0], *common]] = 0
    counts = [t.n_levels for t in terms]
    starts = np.cumsum([0, *counts])
    pairs = [pair for pair in cross.pairs if not common & set(pair.terms)]
    none = [np.zeros(0, dtype=np.intp)]
    one = np.concatenate(none + [starts[p.terms[0]] + p.one for p in pairs])
    two = np.concatenate(none + [starts[p.terms[1]] + p.two for p in pairs])
    n = int(starts[-1])
    graph = sp.coo_array((np.ones(len(one), dtype=bool), (one, two)), shape=(n, n))
    n_parts, part = connected_components(graph, directed=False)
    size = np.bincount(part, weights=np.repeat(wide, counts), minlength=n_parts)
    block = ((np.cumsum(size) - size) // least).astype(np.intp)
    block = np.unique(block, return_inverse=True)[1]
    width = np.bincount(block, weights=size)
    return np.split(block[part], starts[1:-1]), width


def _parts(
    cross: CrossProducts, blocks: Sequence[np.ndarray], common: Sequence[int]
) -> list[tuple[list[np.ndarray], CrossProducts]]:
    """Levels and cross products of each block."""
    terms = cross.terms
    n_blocks = 1 + max(
        int(each.max()) for k, each in enumerate(blocks) if k not in common
    )
    by_term, local = [], []
    for k, (term, each) in enumerate(zip(terms, blocks, strict=True)):
        levels = [np.arange(term.n_levels)] * n_blocks
        if k not in common:
            levels = _split(each, n_blocks)
        number = np.empty(term.n_levels, dtype=np.int32)
        for mine in levels:
            number[mine] = np.arange(len(mine))
        by_term.append(levels)
        local.append(number)
    of_pairs = []
    for pair in cross.pairs:
        k, m = pair.terms
        whose = np.zeros(len(pair.one), dtype=np.intp)
        if k not in common:
            whose = blocks[k][pair.one]
        elif m not in common:
            whose = blocks[m][pair.two]
        of_pairs.append(_split(whose, n_blocks))
    nothing = {
        k: (np.zeros_like(cross.ZF[k]), np.zeros_like(cross.ZZ[k])) for k in common
    }
    out = []
    for b in range(n_blocks):
        levels = [each[b] for each in by_term]
        ZF, ZZ = [], []
        for k, mine in enumerate(levels):
            if k in common:
                sums = (cross.ZF[k], cross.ZZ[k]) if b == 0 else nothing[k]
            else:
                sums = cross.ZF[k][mine], cross.ZZ[k][mine]
            ZF.append(sums[0])
            ZZ.append(sums[1])
        pairs = []
        for pair, places in zip(cross.pairs, of_pairs, strict=True):
            k, m = pair.terms
            mine = places[b]
            one, two = local[k][pair.one[mine]], local[m][pair.two[mine]]
            pairs.append(Pairs(pair.terms, one, two, pair.values[mine]))
        sized = tuple(
            replace(term, n_levels=len(mine))
            for term, mine in zip(terms, levels, strict=True)
        )
        basis = replace(cross.basis, terms=sized)
        part = replace(cross, basis=basis, ZF=ZF, ZZ=ZZ, pairs=pairs)
        out.append((levels, part))
    return out


def _split(numbers: np.ndarray, n: int) -> list[np.ndarray]:
    """Places of each number, ascending."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.searchsorted(numbers[order], np.arange(1, n)))
