"""Rows of a generalised mixed model, and which effects each of them has."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kinlearn.linear.mixed._terms import Term
from kinlearn.linear.mixed.laplace._columns import FixedColumns

__all__ = ["Effects", "LaplaceProblem", "RowPattern"]

_MOST_DENSE = 20_000  # rows of a dense matrix: 3.2 GB


@dataclass(frozen=True, eq=False)
class RowPattern:
    """Which effects a row has, in the order in which they are eliminated.

    Attributes
    ----------
    first : int
        The term whose levels are eliminated first: the one with the most effects.
    rest : list of int
        The other terms.
    codes : int32 array of shape (n,)
        Levels of the first term.
    base : list of int
        Place of each rest term's first effect.
    size : int
        Effects of the rest.
    place, entry : int32 arrays of shape (n, K)
        Where a row's rest effects are, and their cross products with its level.
    indptr, entry_place : intp arrays
        Boundaries of the levels in the entries, and the entries' places.
    """

    first: int
    rest: list[int]
    codes: np.ndarray
    base: list[int]
    size: int
    place: np.ndarray
    entry: np.ndarray
    indptr: np.ndarray
    entry_place: np.ndarray

    @classmethod
    def empty(cls, n: int) -> "RowPattern":
        """The pattern of rows without random effects."""
        none, codes = np.zeros((n, 0), dtype=np.int32), np.zeros(n, dtype=np.int32)
        indptr, place = np.zeros(1, dtype=np.intp), np.zeros(0, dtype=np.intp)
        return cls(-1, [], codes, [], 0, none, none, indptr, place)

    @classmethod
    def of_rows(
        cls, terms: Sequence[Term], codes: Sequence[np.ndarray]
    ) -> "RowPattern":
        """The pattern of rows, from their levels by term, of which there are some."""
        effects = [t.n_levels * t.width for t in terms]
        first = int(np.argmax(effects))
        rest = [k for k in range(len(terms)) if k != first]
        ends = np.cumsum([0] + [effects[k] for k in rest])
        base, size = ends[:-1].tolist(), int(ends[-1])
        if size > _MOST_DENSE:
            names = ", ".join(repr(terms[k].name) for k in rest)
            raise ValueError(
                f"The groupings {names} have {size} effects together: a dense matrix "
                f"of {8e-9 * size**2:.0f} GB. At most {_MOST_DENSE} are possible for "
                "classes and counts, beside the grouping with the most levels. Leave "
                "out slopes, or groupings with many levels."
            )
        one, n = np.asarray(codes[first], dtype=np.int64), len(codes[first])
        keys = [
            one * size + b + codes[k].astype(np.int64) * terms[k].width
            for k, b in zip(rest, base, strict=True)
        ]
        found, pair = np.unique(np.concatenate(keys or [one[:0]]), return_inverse=True)
        level, begin = np.divmod(found, max(size, 1))
        of_place = np.zeros(size + 1, dtype=np.int64)
        for k, b, end in zip(rest, base, ends[1:], strict=True):
            of_place[b:end] = terms[k].width
        width = of_place[begin]
        start = np.concatenate([[0], np.cumsum(width)])
        indptr = np.zeros(terms[first].n_levels + 1, dtype=np.intp)
        np.add.at(indptr, level + 1, width)
        inner = np.arange(start[-1]) - np.repeat(start[:-1], width)
        place, entry = [], []
        for j, k in enumerate(rest):
            mine = pair[j * n : (j + 1) * n]
            columns = np.arange(terms[k].width)
            place.append(begin[mine][:, None] + columns)
            entry.append(start[mine][:, None] + columns)
        none = np.zeros((n, 0), dtype=np.int64)
        return cls(
            first,
            rest,
            np.ascontiguousarray(codes[first], dtype=np.int32),
            base,
            size,
            np.ascontiguousarray(np.hstack([none, *place]), dtype=np.int32),
            np.ascontiguousarray(np.hstack([none, *entry]), dtype=np.int32),
            np.cumsum(indptr),
            (np.repeat(begin, width) + inner).astype(np.intp),
        )


@dataclass(frozen=True, eq=False)
class LaplaceProblem:
    """A generalised mixed model and its rows.

    Attributes
    ----------
    family : int
        0 is Bernoulli with the logit link, 1 is Poisson with the log link.
    y, weight, offset : float64 arrays of shape (n,)
        Targets, weights of the rows, and what is added to the linear predictor.
    fixed : FixedColumns
        Columns of the fixed effects.
    ridge : float64 array of shape (p,)
        Penalty of the square of each fixed effect, on the scale of -2 log likelihood.
    terms : list of Term
        Random terms.
    Z : list of float64 arrays of shape (n, q)
        Columns of each term.
    codes : list of int32 arrays of shape (n,)
        Levels of each term.
    """

    family: int
    y: np.ndarray
    weight: np.ndarray
    offset: np.ndarray
    fixed: FixedColumns
    ridge: np.ndarray
    terms: list[Term]
    Z: list[np.ndarray]
    codes: list[np.ndarray]

    @cached_property
    def pattern(self) -> RowPattern:
        """Which effects a row has."""
        if not self.terms:
            return RowPattern.empty(len(self.y))
        return RowPattern.of_rows(self.terms, self.codes)

    def values(self, T: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The rows' values of the effects: of the first term, and of the rest."""
        pattern, n = self.pattern, len(self.y)
        A = np.zeros((n, 0))
        if self.terms:
            A = self.Z[pattern.first] @ T[pattern.first]
        rest = [self.Z[k] @ T[k] for k in pattern.rest]
        return np.ascontiguousarray(A), np.ascontiguousarray(
            np.hstack([np.zeros((n, 0)), *rest])
        )


@dataclass(frozen=True, eq=False)
class Effects:
    """Values of all effects.

    Attributes
    ----------
    u : float64 array of shape (n_levels, r)
        Of the first term.
    d : float64 array of shape (size,)
        Of the rest.
    beta : float64 array of shape (p,)
        Fixed effects.
    """

    u: np.ndarray
    d: np.ndarray
    beta: np.ndarray

    @classmethod
    def zeros(cls, problem: LaplaceProblem) -> "Effects":
        """No effects."""
        shape = (0, 0)
        if problem.terms:
            first = problem.terms[problem.pattern.first]
            shape = first.n_levels, first.width
        return cls(
            np.zeros(shape),
            np.zeros(problem.pattern.size),
            np.zeros(problem.fixed.n_columns),
        )

    @property
    def without_random(self) -> "Effects":
        """The fixed effects alone."""
        return Effects(np.zeros_like(self.u), np.zeros_like(self.d), self.beta)

    def plus(self, step: "Effects", length: float) -> "Effects":
        """These effects and a multiple of others."""
        return Effects(
            self.u + length * step.u,
            self.d + length * step.d,
            self.beta + length * step.beta,
        )

    def by_term(self, problem: LaplaceProblem) -> list[np.ndarray]:
        """Effects as (n_levels, width), in the order of the terms."""
        out: list[Any] = [None] * len(problem.terms)
        pattern = problem.pattern
        if out:
            out[pattern.first] = self.u
        for k, b in zip(pattern.rest, pattern.base, strict=True):
            term = problem.terms[k]
            end = b + term.n_levels * term.width
            out[k] = self.d[b:end].reshape(term.n_levels, term.width)
        return out
