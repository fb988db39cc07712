"""Correcting kernels that differ from group to group (Cai 2011, chapters 2 and 4)."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinlearn._kernels.svm._rows import RowSource
from kinlearn._kernels.svm._task_rows import MixedRows
from kinlearn.exceptions import UnknownTaskWarning
from kinlearn.svm._kernel import CorrectionSpace, Space, make_space
from kinlearn.utils._loaded import demand

__all__ = ["GroupSpaces", "correction_space"]

_COMPUTED = ("linear", "rbf", "poly")
_RULES = ("scale", "auto", "median")
_SHOWN = 5  # groups in a message


@dataclass(frozen=True)
class GroupSpaces:
    """The kernel of each group's corrections.

    Attributes
    ----------
    spaces : tuple of Space
        The kernels, each once.
    place : tuple of int
        Which of them each group has, by its code.
    default : int
        Which of them a group has that comes later, and is not expected.
    expected : tuple of (name, int)
        Which of them groups have that are named, but had no training rows.
    """

    spaces: tuple[Space, ...]
    place: tuple[int, ...]
    default: int
    expected: tuple[tuple[Any, int], ...] = ()

    kernel = "mixed"

    def of(self, group: int | None, name: Any = None) -> Space:
        """The kernel of a group; None is one that came later."""
        if group is None:
            return self.spaces[dict(self.expected).get(name, self.default)]
        return self.spaces[self.place[group]]

    def moved(self, place: np.ndarray, names: list) -> "GroupSpaces":
        """The same where groups get other codes, among new groups."""
        expected = dict(self.expected)
        moved = np.array([expected.get(name, self.default) for name in names])
        moved[place] = self.place
        return replace(self, place=tuple(moved.tolist()))

    def check(self, n_groups: int = 1) -> None:
        """Refuse what no fit leaves behind."""
        demand(len(self.place) == n_groups and len(self.spaces) > 0, "place")
        for place in (*self.place, self.default, *(k for _, k in self.expected)):
            demand(type(place) is int and 0 <= place < len(self.spaces), "place")
        demand(len(dict(self.expected)) == len(self.expected), "expected")
        for space in self.spaces:
            space.check()
        # a matrix is of all rows, and of no group's
        for place in (*self.place, *(k for _, k in self.expected)):
            demand(self.spaces[place].kernel != "precomputed", "kernel")

    def _kinds(self, group: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The kernels that rows have, and which of these each row has."""
        return np.unique(np.array(self.place)[group], return_inverse=True)

    def rows(
        self, X: Any, order: np.ndarray, group: np.ndarray | None = None
    ) -> RowSource:
        """The source of rows of the matrix, which is 0 between kernels.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            The data.
        order : intp array of shape (n_rows,)
            Which rows of X, in which order.
        group : int array of shape (n_rows,)
            Their groups.

        Returns
        -------
        RowSource
            For the native solvers.
        """
        used, kind = self._kinds(group)
        if len(used) == 1:
            return self.spaces[used[0]].rows(X, order)
        sources = [
            self.spaces[which].rows(X, order[kind == k]) for k, which in enumerate(used)
        ]
        return MixedRows(sources, kind.astype(np.int32))

    def matrix(
        self, X: Any, rows: np.ndarray, group: np.ndarray | None = None
    ) -> np.ndarray:
        """The whole of it, in double precision."""
        used, kind = self._kinds(group)
        out = np.zeros((len(rows), len(rows)))
        for k, which in enumerate(used):
            mine = np.flatnonzero(kind == k)
            out[np.ix_(mine, mine)] = self.spaces[which].matrix(X, rows[mine])
        return out


def _absent_names(
    by_group: Mapping[str, Mapping[Any, Any]], groups: list | None, role: str
) -> list:
    """Names without training rows, with a warning; all of them are an error."""
    for parameter in by_group:
        if groups is None:
            raise ValueError(
                f"{parameter} is a mapping from {role}s, but {role}=None. Name the "
                f"column that holds the {role}s, or give one {parameter} for all rows."
            )
    groups = groups or []
    there = set(groups)
    named = {
        name.item() if isinstance(name, np.generic) else name: key
        for key, mapping in by_group.items()
        for name in mapping
    }
    strange = [name for name in named if name not in there]
    if not strange:
        return []
    some = ", ".join(map(repr, groups[:_SHOWN]))
    more = ", ..." if len(groups) > _SHOWN else ""
    message = (
        f"{named[strange[0]]} names {strange[0]!r}, which is no {role} of the training "
        f"rows; these are {some}{more}."
    )
    if len(strange) == len(named):
        raise ValueError(
            f"{message} Take the name out, or write it as the column does."
        )
    warnings.warn(
        f"{message} Its kernel waits for rows of it; if none can come, write the name "
        "as the column does.",
        UnknownTaskWarning,
        stacklevel=2,
    )
    return strange


def _check_values(kernels: Mapping[Any, Any], gammas: Mapping[Any, Any]) -> None:
    for name, kernel in kernels.items():
        if not (callable(kernel) or kernel in _COMPUTED):
            raise ValueError(
                f"correction_kernel has {kernel!r} for {name!r}; a mapping takes "
                f"{', '.join(map(repr, _COMPUTED))} or a callable. A matrix "
                '("precomputed") can only be that of all rows.'
            )
    for name, gamma in gammas.items():
        number = isinstance(gamma, int | float | np.number) and 0 <= gamma <= 1e100
        if not number and not (isinstance(gamma, str) and gamma in _RULES):
            raise ValueError(
                f"correction_gamma has {gamma!r} for {name!r}; it must be a number "
                f"from 0 on, or one of {', '.join(map(repr, _RULES))}."
            )


def correction_space(
    machine: Any,
    Z: Any,
    weight: np.ndarray | None,
    groups: list | None,
    role: str,
) -> CorrectionSpace:
    """The correcting kernels by an estimator's parameters.

    Parameters
    ----------
    machine : estimator
        Its ``correction_*`` parameters; what is None is that of the decision kernel,
        also for the groups that a mapping does not name.
    Z : ndarray or sparse matrix of shape (n_samples, n_features)
        What the kernels work on.
    weight : float64 array of shape (n_samples,) or None
        Weights of the rows.
    groups : list or None
        Names of the groups or tasks in the order of their codes, if there are any.
    role : {"group", "task"}
        What a message calls them.

    Returns
    -------
    Space or GroupSpaces
        One for all, or one for each group.
    """

    def inherit(name: str) -> Any:
        value = getattr(machine, f"correction_{name}")
        return getattr(machine, name) if value is None else value

    kernels, gammas = inherit("kernel"), inherit("gamma")
    more = inherit("coef0"), inherit("degree"), weight
    by_group = {
        f"correction_{name}": value
        for name, value in (("kernel", kernels), ("gamma", gammas))
        if isinstance(value, Mapping)
    }
    if not by_group:
        return make_space(Z, kernels, gammas, *more)
    absent = _absent_names(by_group, groups, role)
    _check_values(
        by_group.get("correction_kernel", {}), by_group.get("correction_gamma", {})
    )
    made: dict[tuple[Any, Any], Space] = {}

    def value_of(values: Any, group: Any, named: bool) -> Any:
        if not isinstance(values, Mapping):
            return values
        return values.get(group) if named else None

    def space_of(group: Any, named: bool = True) -> Space:
        kernel, gamma = (value_of(v, group, named) for v in (kernels, gammas))
        kernel = machine.kernel if kernel is None else kernel
        gamma = machine.gamma if gamma is None else gamma
        if kernel == "precomputed" and named:
            raise ValueError(
                f"correction_kernel names no kernel for the {role} {group!r}, and that "
                'of the decision function, "precomputed", has no features. Name a '
                f"kernel for each {role}."
            )
        key = id(kernel) if callable(kernel) else kernel, gamma  # may have no hash
        if key not in made:
            made[key] = make_space(Z, kernel, gamma, *more)
        return made[key]

    own = [space_of(group) for group in groups or []]
    later = [space_of(name) for name in absent]
    other = space_of(None, named=False)
    spaces: list[Space] = []
    for space in [*own, *later, other]:
        if space not in spaces:
            spaces.append(space)
    if len(spaces) == 1:
        return other
    place = tuple(spaces.index(space) for space in own)
    expected = zip(absent, map(spaces.index, later), strict=True)
    return GroupSpaces(tuple(spaces), place, spaces.index(other), tuple(expected))
