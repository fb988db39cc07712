"""Boosted trees in words."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kinlearn.boosting.gradient._base import GradientBoostingBase
from kinlearn.boosting.gradient._model import LEAF, TASK

__all__ = ["boosted_text"]

_MOST_NAMES = 10  # tasks or categories that are listed


def boosted_text(
    model: GradientBoostingBase,
    rounds: int | Iterable[int] | None = None,
    decimals: int = 2,
) -> str:
    """The trees of rounds as text; None is the first round."""
    check_is_fitted(model)
    n_outputs = len(model._start.base)
    if rounds is None:
        rounds = range(min(1, model.n_estimators_))
    chosen = [rounds] if isinstance(rounds, int | np.integer) else list(rounds)
    texts = []
    for number in chosen:
        if not -model.n_estimators_ <= number < model.n_estimators_:
            raise ValueError(
                f"There is no round {number}: the model has {model.n_estimators_}, "
                f"from 0 to {model.n_estimators_ - 1}."
            )
        number %= model.n_estimators_
        for k in range(n_outputs):
            title = f"round {number}"
            if n_outputs > 1:
                title += f", class {model.classes_[k]}"
            lines = _Words(model, number * n_outputs + k, decimals).lines(0, 0)
            texts.append("\n".join([title, *lines]))
    return "\n\n".join(texts)


class _Words:
    """The words for one tree."""

    def __init__(self, model: Any, tree: int, decimals: int) -> None:
        trees = model.trees_
        nodes = slice(*trees.tree_start[tree : tree + 2])
        self.model, self.decimals = model, decimals
        self.nodes, self.gain = trees.nodes[nodes], trees.gain[nodes]
        self.sets = trees.sets[slice(*trees.set_start[tree : tree + 2])]
        first = trees.leaf_start[tree]
        self.values = trees.values[first : trees.leaf_start[tree + 1]]
        self.values = self.values * model._score_unit
        self.departures = np.diff(
            trees.departure_start[first : trees.leaf_start[tree + 1] + 1]
        )

    def lines(self, at: int, depth: int) -> list[str]:
        node = self.nodes[at]
        indent = "    " * depth
        if node["feature"] == LEAF:
            leaf = int(node["left"])
            text = f"{indent}{self.values[leaf]:+.{self.decimals}f}"
            if self.departures[leaf]:
                text += f" ({self.departures[leaf]} tasks depart)"
            return [text]
        out = []
        for side in range(2):
            test = self.test(node, side == 0)
            gain = f" (gain {self.gain[at]:.{self.decimals}f})" if side == 0 else ""
            out.append(f"{indent}{test}{gain}")
            out += self.lines(int(node["left"]) + side, depth + 1)
        return out

    def test(self, node: np.void, left: bool) -> str:
        missing = bool(node["default_left"]) == left
        if node["feature"] == TASK:
            names = dict(enumerate(map(str, self.model.tasks_.tolist())))
            return f"task in {{{self.names(node, names, left)}}}"
        columns = self.model._feature_columns
        feature = int(node["feature"])
        place = self.model._place(feature)
        name = self.model.feature_names_[place]
        also = " or missing" if missing else ""
        if columns.categorical[feature]:
            names = self.model._category_names(place)
            return f"{name} in {{{self.names(node, names, left)}}}{also}"
        cut = self.model.bins_.threshold(feature, int(node["bin"]))
        if np.isinf(cut):
            return f"{name} is {'there' if left else 'missing'}"
        return f"{name} {'<=' if left else '>'} {cut:.{self.decimals}f}{also}"

    def names(self, node: np.void, names: dict[int, str], left: bool) -> str:
        """What goes to a side, in short."""
        first = int(node["first_byte"])
        found = [
            name
            for code, name in names.items()
            if bool(self.sets[first + (code >> 3)] >> (code & 7) & 1) == left
        ]
        more = len(found) - _MOST_NAMES
        shown = ", ".join(found[:_MOST_NAMES])
        return f"{shown} and {more} more" if more > 0 else shown
