"""The multilevel sets in the form that all estimators take, and their regimes."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

__all__ = ["REGIMES", "SETS", "Set", "load_set", "splits_of"]

# The regime, and the name of its splits in what `fetch_multilevel` returns.
REGIMES = {"rows": "splits", "groups": "group_splits"}
SETS = {
    "nlschools": "regression",
    "star": "regression",
    "males": "regression",
    "laborsupply": "regression",
    "hedonic": "regression",
    "fatality": "regression",
    "sleepstudy": "regression",
    "dietox": "regression",
    "grouseticks": "regression",
    "mathachieve": "regression",
    "exam": "regression",
    "radon": "regression",
    "verbagg": "classification",
    "ohio": "classification",
    "respiratory": "classification",
    "contraception": "classification",
}
_FEW_ROWS, _SPLITS, _FEWER = 1_000, 10, 5


@dataclass(frozen=True)
class Set:
    """One set: features as numbers, the group's code last, and its fixed splits."""

    name: str
    kind: str
    X: np.ndarray
    y: np.ndarray
    splits: dict

    @cached_property
    def code(self):
        """Hash of the values and of the rows of the splits."""
        digest = hashlib.sha256()
        for values in (self.X, self.y, *chain(*chain(*self.splits.values()))):
            digest.update(np.asarray(values, dtype=float).tobytes())
        return digest.hexdigest()[:12]


def splits_of(data):
    """How many of a set's splits are played: all where rows are few, else half."""
    return _SPLITS if len(data.y) < _FEW_ROWS else _FEWER


def load_set(name):
    """A set of `fetch_multilevel`: indicators of texts, medians where one is missing.

    Parameters
    ----------
    name : str
        A key of ``SETS``.

    Returns
    -------
    Set
        What contenders are fitted to.
    """
    from kinlearn.datasets import fetch_multilevel

    data = fetch_multilevel(name)
    columns = []
    for j, feature in enumerate(data.feature_names):
        values = data.data[:, j].astype(float)
        if feature in data.categories:
            n_levels = len(data.categories[feature])
            columns += [values == level for level in range(1, max(n_levels, 2))]
        else:
            columns.append(np.where(np.isnan(values), np.nanmedian(values), values))
    X = np.column_stack([*columns, data.data[:, -1]]).astype(float)
    splits = {regime: data[key] for regime, key in REGIMES.items()}
    return Set(name, SETS[name], X, np.asarray(data.target), splits)
