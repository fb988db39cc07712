"""Categories: a column as codes, indicators or mean targets; which codes fit knows."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from kinlearn.tables._meanings import min_level_rows
from kinlearn.utils._sklearn import target_encoder

__all__ = ["CategoryColumn", "drop_new_codes", "known_codes"]

_MISSING, _INFREQUENT = "(missing)", "(infrequent)"
_MOST_CODES = 254  # the shared one among them: a byte, less one for missing
_MOST_INDICATORS = 30  # the shared one among them
_FOLDS = 5  # that cross-fit mean targets


@dataclass(eq=False)
class CategoryColumn:
    """The values of a column of categories, and what they become.

    Attributes
    ----------
    way : {"codes", "indicators", "target"}
        What they become.
    levels : list of str
        Values with a place of their own, in the order of the codes.
    shared : bool
        Whether all others share one place behind these.
    missing : bool
        Whether some were missing in fit.
    means : list of TargetEncoder
        One for each column of targets, by place.
    """

    way: Literal["codes", "indicators", "target"]
    levels: list[str]
    shared: bool
    missing: bool
    means: list[Any] = field(default_factory=list)

    @classmethod
    def find(
        cls,
        way: Literal["codes", "indicators", "target"],
        levels: list[str],
        codes: np.ndarray,
        *,
        ordered: bool = False,
        fill: bool = False,
    ) -> "CategoryColumn":
        """Choose the values that get a place of their own; mean targets come later.

        `codes` are places among the distinct `levels`, -1 is missing. Levels that are
        not `ordered` become alphabetical. `fill`: missing and new values get the code
        of the rarest.
        """
        counts = np.bincount(codes[codes >= 0], minlength=len(levels))
        if way == "target" and len(levels) <= _MOST_INDICATORS:
            way = "indicators"
        least, most = 1, len(levels)
        if way == "codes":
            most = _MOST_CODES - fill
        elif way == "indicators":
            least, most = min_level_rows(len(codes)), _MOST_INDICATORS
        frequent = np.flatnonzero(counts >= least)
        if len(frequent) + (len(frequent) < len(levels)) > most:
            order = np.lexsort((frequent, -counts[frequent]))
            frequent = frequent[np.sort(order[: most - 1])]
        chosen = [levels[i] for i in frequent]
        return cls(
            way,
            chosen if ordered else sorted(chosen),
            shared=len(chosen) < len(levels) or (fill and way == "codes"),
            missing=bool((codes < 0).any()),
        )

    def names(self) -> list[str]:
        """What stands at each place."""
        return [*self.levels, *([_INFREQUENT] if self.shared else [])]

    def endings(self) -> list[str]:
        """Endings of the names of what comes out."""
        if self.way == "codes":
            return [""]
        if self.way == "target":
            if len(self.means) == 1:
                return [": target"]
            return [f": target {j}" for j in range(len(self.means))]
        shared = [_INFREQUENT] if self.shared else []
        missing = [_MISSING] if self.missing else []
        return [f"={level}" for level in (*self.levels, *shared, *missing)]

    def encode(
        self,
        levels: list[str],
        codes: np.ndarray,
        targets: np.ndarray | None = None,
        *,
        fill: bool = False,
    ) -> np.ndarray:
        """What the cells of a column become: a column for each of :meth:`endings`.

        `codes` are places among the distinct `levels`, -1 is missing. `targets` are
        given in fit alone, for mean targets, which are cross-fitted then.
        """
        known = {level: place for place, level in enumerate(self.levels)}
        n_known = len(known)
        places = [known.get(level, n_known) for level in levels]
        place = np.array([*places, -1], dtype=np.intp)[codes]
        if self.way == "codes":
            out = place.astype(np.float64)
            out[place < 0] = n_known if fill else np.nan
            if not self.shared:
                out[place == n_known] = np.nan
            return out.reshape(-1, 1)
        if self.way == "target":
            return self._mean_targets(place.reshape(-1, 1), targets)
        width = len(self.endings())
        column = place.copy()
        column[place < 0] = width - 1 if self.missing else width
        if not self.shared:
            column[place == n_known] = width
        out = np.zeros((len(place), width + 1))  # the last is for what is nowhere
        out[np.arange(len(place)), column] = 1.0
        return out[:, :width]

    def _mean_targets(
        self, place: np.ndarray, targets: np.ndarray | None
    ) -> np.ndarray:
        if targets is None:
            return np.hstack([mean.transform(place) for mean in self.means])
        # each class as numbers, 0 and 1: its folds need no rows of every class
        self.means = [
            target_encoder("continuous", n_splits=min(_FOLDS, len(place)))
            for _ in targets.T
        ]
        return np.hstack(
            [
                mean.fit_transform(place, target)
                for mean, target in zip(self.means, targets.T, strict=True)
            ]
        )


def known_codes(
    X: Any,
    categorical: np.ndarray,
    names: np.ndarray,
    estimator: str,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """Which codes the categories of training rows have, (n_categorical, 254).

    A row of weight 0 is none. The names are those of all features, for messages.
    """
    if sp.issparse(X):
        raise TypeError(
            f"{estimator} takes categories from arrays and frames, but X is sparse. "
            "Pass X.toarray(), or set categorical_features=None."
        )
    which = np.flatnonzero(categorical)
    known = np.zeros((len(which), _MOST_CODES), dtype=bool)
    for found, feature in zip(known, which, strict=True):
        x = X[:, feature]
        bad = ~((x >= 0) & (x < _MOST_CODES) & (x == np.floor(x)) | np.isnan(x))
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(
                f"Categorical column {names[feature]!r} holds {x[row]:g} in row {row}; "
                f"categories must be integers from 0 to {_MOST_CODES - 1}, or NaN for "
                "a missing one. Number them (sklearn.preprocessing.OrdinalEncoder with "
                f"max_categories={_MOST_CODES} does), or leave the column out of "
                "categorical_features."
            )
        here = ~np.isnan(x) if weight is None else ~np.isnan(x) & (weight > 0)
        found[x[here].astype(np.intp)] = True
    return known


def drop_new_codes(X: Any, categorical: np.ndarray, known: np.ndarray) -> Any:
    """Rows in which categories that fit did not see are missing values.

    X itself where there are none. `known` is what :func:`known_codes` found in fit.
    """
    if sp.issparse(X):
        raise TypeError(
            "Categories are taken from arrays and frames, but X is sparse. Pass "
            "X.toarray()."
        )
    copied = False
    for seen, feature in zip(known, np.flatnonzero(categorical), strict=True):
        new = ~np.isin(X[:, feature], np.flatnonzero(seen)) & ~np.isnan(X[:, feature])
        if new.any():
            X, copied = X if copied else X.copy(order="K"), True
            X[new, feature] = np.nan
    return X
