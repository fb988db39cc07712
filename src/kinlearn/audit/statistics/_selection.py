"""The headline: the best model that shares against the best that does not.

The winner of many contenders owes a part of its score to luck, and the more
contenders a side has, the larger that part. So the figures of the headline come
from models that were chosen elsewhere: in each fold, both are chosen by the
other folds of the same repeat and scored on this one.

What is left: the other folds' models were trained on rows that include this
fold's test rows. These rows helped to fit them, and none of them scored the
choice. If test sets overlap (random splits instead of folds), the choice does
see rows that score it, and a part of the luck stays.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinlearn.audit.statistics._intervals import macro_mean
from kinlearn.audit.statistics._scores import (
    Scores,
    TaskGain,
    difference,
    gains_by_task,
)

__all__ = ["Headline", "nested_selection"]


@dataclass(frozen=True)
class Headline:
    """Sharing against not sharing, free of selection.

    - `sharing`, `alone`: The contenders that all folds together choose: the ones to
      refit. None if no contender of this kind has a score.
    - `how_often`: In how many folds each contender was chosen.
    - `n_folds`: Folds in which a pair could be chosen, over all repeats.
    - `macro_sharing`, `macro_alone`: Mean over tasks of what the chosen models score on
      folds that did not choose them.
    - `gain`, `low`, `high`: Their difference with its corrected interval: for these
      tasks and the whole procedure, choosing included.
    - `naive_sharing`, `naive_alone`, `naive_gain`: Of `sharing` and `alone` on the
      folds that chose them; for comparison.
    - `gains`: The same by task: `macro_alone`, `macro_sharing` and `gain` are the means
      of theirs.
    - `level`: Of the intervals.
    - `reason`: Why there are no figures.
    """

    sharing: str | None
    alone: str | None
    how_often: dict[str, int] = field(default_factory=dict)
    n_folds: int = 0
    macro_sharing: float = np.nan
    macro_alone: float = np.nan
    gain: float = np.nan
    low: float = np.nan
    high: float = np.nan
    naive_sharing: float = np.nan
    naive_alone: float = np.nan
    naive_gain: float = np.nan
    gains: list[TaskGain] = field(default_factory=list)
    level: float = 0.95
    reason: str | None = None


def nested_selection(scores: Scores, level: float = 0.95) -> Headline:
    """Choose and score on different folds."""
    shares = np.array([contender.shares for contender in scores.contenders], dtype=bool)
    sides = [_candidates(scores.values, kind) for kind in (shares, ~shares)]
    best = [_best(scores.values, side) for side in sides]
    names = [None if i is None else scores.contenders[i].name for i in best]
    sharing_name, alone_name = names
    nothing = np.full(scores.n_train.shape, np.nan)
    if None in best:
        return Headline(
            sharing_name,
            alone_name,
            gains=gains_by_task(scores, nothing, nothing, level=level),
            level=level,
            reason=_what_is_missing(names),
        )

    chosen = np.stack([_choices(scores.values, side) for side in sides])
    usable = (chosen >= 0).all(axis=0)
    sharing, alone = (_scores_of(scores.values, choice, usable) for choice in chosen)
    change = difference(sharing, alone)
    paired = ~np.isnan(change)
    macro, macro_sharing, macro_alone, naive, *naives = (
        macro_mean(values, *scores.counts)
        for values in (
            change,
            np.where(paired, sharing, np.nan),
            np.where(paired, alone, np.nan),
            difference(*scores.values[best]),
            *scores.values[best],
        )
    )
    low, high = macro.interval(level, scores.width)
    reason = None
    if not usable.any():
        reason = "one fold a repeat leaves no other fold to choose the models by"
    elif not paired.any():
        reason = "no task was scored by models of both kinds"
    counts = Counter(chosen[:, usable].ravel().tolist())
    return Headline(
        sharing_name,
        alone_name,
        how_often={scores.contenders[i].name: n for i, n in counts.most_common()},
        n_folds=int(usable.sum()),
        macro_sharing=float(macro_sharing.mean[0]),
        macro_alone=float(macro_alone.mean[0]),
        gain=float(macro.mean[0]),
        low=float(low[0]),
        high=float(high[0]),
        naive_sharing=float(naives[0].mean[0]),
        naive_alone=float(naives[1].mean[0]),
        naive_gain=float(naive.mean[0]),
        gains=gains_by_task(scores, sharing, alone, level=level),
        level=level,
        reason=reason,
    )


def _candidates(values: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Positions of the contenders of a kind that lack the fewest scores."""
    scored = ~np.isnan(values)
    gaps = (scored.any(axis=0) & ~scored).sum(axis=(1, 2, 3))
    able = np.flatnonzero(kind & scored.any(axis=(1, 2, 3)))
    return able[gaps[able] == gaps[able].min()] if len(able) else able


def _best(values: np.ndarray, candidates: np.ndarray) -> Any:
    """Position of the candidate with the best macro mean; the first of equals."""
    if len(candidates) < 2:
        return candidates[0] if len(candidates) else None
    means = [_macro(values[i]) for i in candidates]
    return None if np.isnan(means).all() else candidates[int(np.nanargmax(means))]


def _macro(values: np.ndarray) -> float:
    """Mean over tasks of the mean over folds; NaN if there is no score."""
    scored = ~np.isnan(values)
    folds = tuple(range(values.ndim - 1))
    n_folds = scored.sum(axis=folds)
    if not n_folds.any():
        return np.nan
    total = np.where(scored, values, 0).sum(axis=folds)
    return float((total[n_folds > 0] / n_folds[n_folds > 0]).mean())


def _choices(values: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """For each fold, the candidate that the repeat's other folds choose, or -1."""
    _, n_repeats, n_splits, _ = values.shape
    chosen = np.full((n_repeats, n_splits), -1)
    for repeat, split in np.ndindex(n_repeats, n_splits):
        best = _best(np.delete(values[:, repeat], split, axis=1), candidates)
        if best is not None:
            chosen[repeat, split] = best
    return chosen


def _scores_of(values: np.ndarray, chosen: np.ndarray, usable: Any) -> np.ndarray:
    """Scores of the chosen contenders, on the folds that did not choose them."""
    repeat, split = np.indices(chosen.shape)
    return np.where(usable[..., np.newaxis], values[chosen, repeat, split], np.nan)


def _what_is_missing(names: list[str | None]) -> str:
    if names == [None, None]:
        return "no model has a score"
    kind = "shares" if names[0] is None else "does not share"
    return f"no model that {kind} has a score to compare with"
