"""Fitting a multi-task random forest to rows that lie in many parts."""

from collections.abc import Callable
from typing import Any

from kinlearn._kernels._random import stream_state
from kinlearn.trees._mt_levels import LevelTrees
from kinlearn.trees._mt_parts import prepare_binned
from kinlearn.trees._parts import remember_common
from kinlearn.trees._random_forest import MultiTaskRandomForestClassifier

__all__ = ["fit_forest_parts"]

# Rows of a node that may come together in one place, and no more than an average place
# has: below it a tree is grown there to the end. The fewer, the more messages.
_MOST_TOGETHER = 2**22

# Places and counts of rows in the trees that grow together: a quarter of the memory
# that X has in float32, or what is not worth a thought.
_PLACES_SHARE = 8
_FREE_PLACES = 2**22


def fit_forest_parts(
    forest: MultiTaskRandomForestClassifier,
    engine: Any,
    parts: list[Any],
    *,
    trees_at_once: int | None = None,
    finished: Callable[[int], object] | None = None,
) -> None:
    """Fit a forest to parts; the same trees as of all rows in one place.

    Parameters
    ----------
    forest : MultiTaskRandomForestClassifier
        Gets the fitted attributes. Its parameters decide how to grow.
    engine : LocalParts or the like
        Where the parts are.
    parts : list
        Handles of what `read_part` gave. Emptied, so that these rows are let go of.
    trees_at_once : int, default=None
        Trees that grow together. More of them need more memory (8 bytes for each row
        and tree) and fewer rounds. None: as many as take a quarter of the memory of X.
    finished : callable, default=None
        Called with the number of trees that have just been finished.
    """
    common, scheme, n_rows = prepare_binned(
        engine, parts, forest.class_weight, forest.label_sets
    )
    remember_common(forest, common)
    n_features = len(common.table.features)
    level = LevelTrees(
        engine,
        scheme,
        forest._growth_settings(n_features),
        bootstrap=forest.bootstrap,
        most_together=min(_MOST_TOGETHER, common.n_rows // engine.n_places),
    )
    forest._draw_seed()
    seeds = [stream_state(forest._seed, i) for i in range(forest.n_estimators)]
    free = _FREE_PLACES // max(n_rows)
    at_once = trees_at_once or max(1, n_features // _PLACES_SHARE, free)
    grown: list = []
    for i in range(0, len(seeds), at_once):
        grown += level.grow(seeds[i : i + at_once])
        if finished is not None:
            finished(len(grown) - i)
    forest.trees_ = grown
    forest._bags = (forest.bootstrap, common.n_rows)
