"""One column of categories as codes, as indicators or as mean targets."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from kinlearn.tables._meanings import min_level_rows
from kinlearn.utils._sklearn import target_encoder

__all__ = ["MOST_INDICATORS", "CategoryColumn"]

_MISSING, _INFREQUENT = "(missing)", "(infrequent)"
_MOST_CODES = 254  # the shared one among them: a byte, less one for missing
MOST_INDICATORS = 30  # the shared one among them
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
        if way == "target" and len(levels) <= MOST_INDICATORS:
            way = "indicators"
        least, most = 1, len(levels)
        if way == "codes":
            most = _MOST_CODES - fill
        elif way == "indicators":
            least, most = min_level_rows(len(codes)), MOST_INDICATORS
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
