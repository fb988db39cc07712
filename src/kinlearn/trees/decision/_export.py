"""A multi-task tree in words and as a picture."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kinlearn.trees.decision._base import MultiTaskTreeModel
from kinlearn.trees.decision._model import MultiTaskTree
from kinlearn.utils import import_optional

__all__ = ["export_text", "plot_tree"]


def export_text(
    model: MultiTaskTreeModel,
    *,
    number: int = 0,
    max_depth: int = 10,
    max_tasks: int = 10,
    decimals: int = 2,
) -> str:
    """Write a tree as text, with the tasks that are decided at each node.

    Parameters
    ----------
    model : MultiTaskDecisionTreeClassifier or MultiTaskRandomForestClassifier
        A fitted model.
    number : int, default=0
        Which tree of a forest.
    max_depth : int, default=10
        Deepest level that is shown.
    max_tasks : int, default=10
        Decisions to list at a node; more are counted.
    decimals : int, default=2
        Digits of thresholds and fractions.

    Returns
    -------
    str
        The text. "from above" marks a task that has no row at the node and is
        decided by its rows in the parent.

    Examples
    --------
    >>> from kinlearn.trees import MultiTaskDecisionTreeClassifier, export_text
    >>> X = [[1, 0], [2, 0], [3, 0], [1, 1], [2, 1], [4, 1]]
    >>> y = ["low", "low", "high", "cold", "cold", "warm"]
    >>> tree = MultiTaskDecisionTreeClassifier(task=-1).fit(X, y)
    >>> print(export_text(tree))
    |--- x0 <= 2.50
    |   |--- task 0: low (2 rows)
    |   |--- task 1: cold (2 rows)
    |--- x0 > 2.50
    |   |--- task 0: high (1 row)
    |   |--- task 1: warm (1 row)
    """
    view = _View(model, number, max_tasks, decimals)
    lines: list[str] = []
    waiting = [(0, 0, "")]
    while waiting:
        node, depth, test = waiting.pop()
        if test:
            lines.append("|   " * (depth - 1) + f"|--- {test}")
        indent = "|   " * depth
        lines += [f"{indent}|--- {text}" for _, text, _ in view.decisions(node)]
        if view.is_leaf[node]:
            continue
        if depth == max_depth:
            lines.append(f"{indent}|--- ... (cut off at max_depth={max_depth})")
            continue
        left = view.left[node]
        waiting.append((left + 1, depth + 1, view.test(node, "no")))
        waiting.append((left, depth + 1, view.test(node, "yes")))
    return "\n".join(lines)


def plot_tree(
    model: MultiTaskTreeModel,
    *,
    number: int = 0,
    max_depth: int = 4,
    max_tasks: int = 8,
    decimals: int = 2,
    ax: Any = None,
) -> Any:
    """Draw a tree, with the tasks that are decided at each node.

    Every task has a colour. A filled label at a node is a task that is decided
    there, with its label, the label's fraction unless it is 1, and the number of
    rows. A label with a dashed frame is a task that has no row there and is
    decided by its rows in the parent.

    Parameters
    ----------
    model : MultiTaskDecisionTreeClassifier or MultiTaskRandomForestClassifier
        A fitted model.
    number : int, default=0
        Which tree of a forest.
    max_depth : int, default=4
        Deepest level that is shown.
    max_tasks : int, default=8
        Decisions to show at a node; more are counted.
    decimals : int, default=2
        Digits of thresholds and fractions.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a figure of a size that fits.

    Returns
    -------
    matplotlib Axes
        The picture. Needs matplotlib, which ``kinlearn[report]`` brings.

    Examples
    --------
    >>> from kinlearn.trees import MultiTaskDecisionTreeClassifier, plot_tree
    >>> X = [[1, 0], [2, 0], [3, 0], [1, 1], [2, 1], [4, 1]]
    >>> tree = MultiTaskDecisionTreeClassifier(task=-1).fit(X, [0, 0, 1, 1, 1, 0])
    >>> ax = plot_tree(tree)  # doctest: +SKIP
    """
    plt = import_optional("matplotlib.pyplot", extra="report", purpose="Drawing a tree")
    view = _View(model, number, max_tasks, decimals)
    places = _positions(view, max_depth)
    labels = {v: view.decisions(v, short=True) for v in places}
    tops = _tops(places, labels)
    if ax is None:
        lengths = (len(text) for some in labels.values() for _, text, _ in some)
        longest = max(lengths, default=0)
        width = 0.08 * (longest + 4) * (1 + max(x for x, _ in places.values()))
        _, ax = plt.subplots(figsize=(max(4, width), 0.7 * (1 - tops[-1])))
    colours = plt.get_cmap("tab10" if len(model.tasks_) <= 10 else "tab20")
    for v, (x, depth) in places.items():
        y = tops[depth]
        if view.left[v] in places and not view.is_leaf[v]:
            for child, side in ((view.left[v], "yes"), (view.left[v] + 1, "no")):
                child_x, child_depth = places[child]
                _draw_edge(ax, (x, y), (child_x, tops[child_depth]), side)
        if not view.is_leaf[v]:
            frame = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.3"}
            _write(ax, x, y, view.test(v, "yes"), frame, size=10)
            y -= _LINE + 0.1
        for task, text, inherited in labels[v]:
            colour = (0.5, 0.5, 0.5) if task is None else colours(task % colours.N)[:3]
            chip = {
                "boxstyle": "round,pad=0.25",
                "facecolor": "white" if inherited else [0.7 + 0.3 * c for c in colour],
                "edgecolor": colour,
                "linestyle": "--" if inherited else "-",
            }
            _write(ax, x, y, text, chip, size=8)
            y -= _LINE
    across = [x for x, _ in places.values()]
    ax.set_xlim(min(across) - 0.6, max(across) + 0.6)
    ax.set_ylim(tops[-1] + 0.5, 0.5)
    ax.axis("off")
    return ax


_LINE = 0.36  # height of a decision, where 1 lies between levels without any


def _tops(places: dict[int, tuple[float, int]], labels: dict[int, list]) -> np.ndarray:
    """Height of each level and of the end: below a level, space for its decisions."""
    n_lines = [0] * (1 + max(depth for _, depth in places.values()))
    for v, (_, depth) in places.items():
        n_lines[depth] = max(n_lines[depth], len(labels[v]))
    return -np.concatenate([[0], np.cumsum([1 + _LINE * n for n in n_lines])])


def _draw_edge(
    ax: Any, start: tuple[float, float], end: tuple[float, float], side: str
) -> None:
    ax.plot(*zip(start, end, strict=True), color="0.7", lw=1, zorder=1)
    x, y = (0.3 * a + 0.7 * b for a, b in zip(start, end, strict=True))
    frame = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    _write(ax, x, y, side, frame, size=8, zorder=2)


def _write(
    ax: Any,
    x: float,
    y: float,
    text: str,
    frame: dict[str, Any],
    *,
    size: int,
    zorder: int = 3,
) -> None:
    ax.text(
        x, y, text, ha="center", va="center", fontsize=size, zorder=zorder, bbox=frame
    )


def _tree_of(model: MultiTaskTreeModel, number: int) -> MultiTaskTree:
    trees = getattr(model, "_trees", None)
    if trees is None:
        raise TypeError(
            f"{type(model).__name__} has no tree that can be shown; "
            "MultiTaskDecisionTreeClassifier and MultiTaskRandomForestClassifier have."
        )
    if not -len(trees) <= number < len(trees):
        raise ValueError(f"number={number} of {len(trees)} trees; the first is 0.")
    return trees[number]


class _View:
    """Nodes and decisions of a tree in the user's names."""

    def __init__(
        self, model: MultiTaskTreeModel, number: int, max_tasks: int, decimals: int
    ) -> None:
        check_is_fitted(model)
        self.tree = _tree_of(model, number)
        self.model = model
        self.max_tasks = max_tasks
        self.decimals = decimals
        self.is_leaf = self.tree.is_leaf
        self.left = self.tree.steps["left"].tolist()

    def test(self, node: int, side: str) -> str:
        """The test at an inner node, or its opposite."""
        step = self.tree.steps[node]
        name = self.model.feature_names_[step["feature"]]
        if step["missing_left"] > 1:
            return f"{name} {'in' if side == 'yes' else 'not in'} {self._codes(step)}"
        if np.isinf(step["threshold"]):
            return f"{name} is {'present' if side == 'yes' else 'missing'}"
        sign = "<=" if side == "yes" else ">"
        return f"{name} {sign} {step['threshold']:.{self.decimals}f}"

    def _codes(self, step: np.void) -> str:
        """The categories that go left, of those seen in fit."""
        sets: Any = self.tree.category_sets
        words = sets[(step["missing_left"] >> 1) - 1]
        left = np.unpackbits(words.view(np.uint8), bitorder="little")
        names = self.model._category_names(int(step["feature"]))
        return f"{{{', '.join(name for c, name in names.items() if left[c])}}}"

    def decisions(
        self, node: int, short: bool = False
    ) -> list[tuple[int | None, str, bool]]:
        """Task code, words and whether inherited, for each task decided here."""
        tree, tasks = self.tree, self.model.tasks_.tolist()
        first, last = tree.decision_indptr[node : node + 2]
        out: list = []
        for d in range(first, min(last, first + self.max_tasks)):
            values = slice(tree.value_indptr[d], tree.value_indptr[d + 1])
            fraction = tree.value_share[values]
            label = self.model.classes_[tree.value_label[values][np.argmax(fraction)]]
            most = "" if len(fraction) == 1 else f" {fraction.max():.{self.decimals}f}"
            n_rows = int(tree.decision_rows[d])
            words = "" if short else " row" if n_rows == 1 else " rows"
            rows = f"{n_rows}{words}" if n_rows else "from above"
            task = int(tree.decision_task[d])
            name = f"{'' if short else 'task '}{tasks[task]}: "
            if len(tasks) == 1:
                name = ""
            out.append((task, f"{name}{label}{most} ({rows})", n_rows == 0))
        if last - first > self.max_tasks:
            out.append((None, f"and {last - first - self.max_tasks} more tasks", False))
        return out


def _positions(view: _View, max_depth: int) -> dict[int, tuple[float, int]]:
    """Place and depth of the nodes to draw: leaves side by side, parents midway."""
    places: dict[int, tuple[float, int]] = {}
    n_ends = 0
    waiting = [(0, 0, False)]
    while waiting:
        node, depth, children_placed = waiting.pop()
        left = view.left[node]
        if view.is_leaf[node] or depth == max_depth:
            places[node] = float(n_ends), depth
            n_ends += 1
        elif children_placed:
            places[node] = (places[left][0] + places[left + 1][0]) / 2, depth
        else:
            waiting.append((node, depth, True))
            waiting.append((left + 1, depth + 1, False))
            waiting.append((left, depth + 1, False))
    return places
