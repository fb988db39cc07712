"""Tasks that come after boosting.

The trees stay. A new task gets its intercept and, round by round, a side at every task
split and departures in the leaves, by the penalties that the trees were grown with.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from kinlearn._binning import in_units
from kinlearn.boosting.gradient._departures import LEAST_FRACTION, fraction_of
from kinlearn.boosting.gradient._exact import group_quantiles
from kinlearn.boosting.gradient._model import LEAF, TASK, Tree, Trees
from kinlearn.boosting.gradient._rounds import Boosted, Problem
from kinlearn.boosting.gradient._start import (
    MOST_STEP,
    NEWTON_STEPS,
    RowsHere,
    Start,
    Totals,
)

__all__ = ["add_tasks"]

_LENGTH_STEPS = 3
_UNLIKE = 3.0  # standard deviations by which a task is unlike all others


def add_tasks(
    model: Boosted,
    problem: Problem,
    is_new: np.ndarray,
    *,
    task_values: bool,
    direction: np.ndarray | None,
) -> Boosted:
    """Find what new tasks add to scores, from rows of these alone.

    Parameters
    ----------
    model : Boosted
        The model, in which the tasks have codes already.
    problem : Problem
        Rows of new tasks.
    is_new : bool array of shape (n_tasks,)
        Which tasks are new.
    task_values : bool
        Whether tasks have intercepts and departures.
    direction : int8 array of shape (n_features,), or None
        Constraints of the features.

    Returns
    -------
    Boosted
        The same for the old tasks, to the bit.
    """
    new = np.flatnonzero(is_new)
    work = _NewTasks(problem, new, task_values, np.count_nonzero(~is_new) == 1)
    work.rises = direction is not None and bool(direction.any())
    start = work.start(model.start)
    scores = start.scores_of(problem)
    n_outputs = len(start.base)
    trees = []
    for first in range(0, len(model.trees), n_outputs):
        g, h = problem.loss.gradients(scores)
        before = scores.copy()
        for k in range(n_outputs):
            tree = model.trees[first + k]
            trees.append(work.placed(tree, g[k], h[k], before, scores, direction))
    return Boosted(start, Trees.of(trees, problem.n_tasks))


class _NewTasks:
    """Sums over the rows of new tasks, and what they give."""

    def __init__(
        self, problem: Problem, new: np.ndarray, task_values: bool, alone: bool
    ) -> None:
        self.problem, self.new, self.task_values = problem, new, task_values
        # one old task does not tell how tasks differ: new ones must
        self.learns = alone and task_values
        self.rises = False  # whether scores must rise with features, or fall
        self.n_new = len(new)
        self.code = np.searchsorted(new, problem.task)
        self.rows = [problem.rows(k) for k in range(problem.loss.n_outputs)]

    def sums(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        out = np.bincount(self.code[rows], values[rows], minlength=self.n_new)
        return out.astype(np.float64)

    # ------------------------------------------------- intercepts, and the line

    def start(self, start: Start) -> Start:
        """Intercepts of the new tasks, and how long the line is for them."""
        if not self.task_values:
            return start
        start = self._with_intercepts(start)
        if start.line is None or self.problem.loss.by_quantile:
            return start
        if start.lengths is None:
            start = replace(start, lengths=np.ones_like(start.intercepts))
        for _ in range(_LENGTH_STEPS if self.problem.loss.is_curved else 1):
            start = self._with_intercepts(self._with_lengths(start))
        return start

    def _with_lengths(self, start: Start) -> Start:
        """A Newton step of slopes along the line, of tasks that are unlike others."""
        problem, loss = self.problem, self.problem.loss
        lengths: Any = start.lengths
        lengths = lengths.copy()
        along = np.zeros((len(problem.task), len(start.base)))
        start.line.add(problem.binned.bins, along)
        scores = start.scores_of(problem)
        g, h = loss.gradients(scores)
        for k, rows in enumerate(self.rows):
            code, H = self.code[rows], self.sums(h[k], rows)
            mean = _ratio(self.sums(h[k] * along[:, k], rows), H)
            x = np.zeros(len(problem.task))
            x[rows] = along[rows, k] - mean[code]
            G, L = self.sums(g[k] * x, rows), self.sums(h[k] * x**2, rows)
            slope, level = _ratio(G, L), _ratio(self.sums(g[k], rows), H)
            rest = g[k].copy()
            rest[rows] -= h[k][rows] * (level[code] + slope[code] * x[rows])
            noise = self._noise_of(rest, H, rows, 2)
            if not np.isfinite(noise):
                continue
            now = lengths[self.new, k]
            left = (G - L * (now - 1))[None]
            if self.learns:
                penalty = np.full(len(L), _own_penalty(left, L[None], noise))
            else:  # trees know how the tasks of fit differ
                learned = start.line.penalty[k]
                penalty = _penalties(left, L[None], noise, learned)
                penalty[penalty == learned] = np.inf
            change = 1 - left[0] / np.maximum(L + penalty, 1e-300) - now
            if loss.is_curved:
                change = np.clip(change, -MOST_STEP, MOST_STEP)
            now = now + np.where(L > 0, change, 0.0)
            lengths[self.new, k] = np.maximum(now, 0.0) if self.rises else now
        return replace(start, lengths=lengths)

    def _with_intercepts(self, start: Start) -> Start:
        """Intercepts of the new tasks, by Newton steps as in fit."""
        problem, loss = self.problem, self.problem.loss
        a, penalty = start.intercepts.copy(), start.penalty.copy()
        for step in range(NEWTON_STEPS if loss.is_curved else 1):
            now = replace(start, intercepts=a, penalty=penalty)
            scores = now.scores_of(problem)
            g, h = loss.gradients(scores)
            for k, rows in enumerate(self.rows):
                G, H = self.sums(g[k], rows), self.sums(h[k], rows)
                if step == 0 and self.learns:
                    noise = self._noise_within(g[k], h[k], G, H, rows)
                    penalty[k] = _own_penalty(G, H, noise)
                if not np.isfinite(penalty[k]):
                    continue
                if loss.by_quantile:
                    change = self._quantiles(scores, rows, self.code[rows], self.n_new)
                    change = change * fraction_of(H, penalty[k])
                else:
                    below = np.maximum(H + penalty[k], 1e-300)
                    change = -(G + penalty[k] * a[self.new, k]) / below
                    if loss.is_curved:
                        change = np.clip(change, -MOST_STEP, MOST_STEP)
                a[self.new, k] += np.where(H > 0, change, 0.0)
            if loss.by_quantile:
                break
        return replace(start, intercepts=a, penalty=penalty)

    def _noise_within(
        self,
        g: np.ndarray,
        h: np.ndarray,
        G: np.ndarray,
        H: np.ndarray,
        rows: np.ndarray,
    ) -> float:
        left = g.copy()
        left[rows] -= h[rows] * _ratio(G, H)[self.code[rows]]
        return self._noise_of(left, H, rows, 1)

    def _noise_of(
        self, left: np.ndarray, H: np.ndarray, rows: np.ndarray, n_learned: int
    ) -> float:
        """Variance of what is left of gradients, in units of the curvature."""
        n_rows = self.problem.n_rows[rows]
        n, n_free = n_rows.sum(), n_rows.sum() - n_learned * np.count_nonzero(H)
        if n_free <= 0 or H.sum() <= 0:
            return np.inf
        squares = (left[rows] ** 2 / n_rows).sum()
        return float(squares * n / (n_free * H.sum()))

    def _quantiles(
        self, scores: np.ndarray, rows: np.ndarray, group: np.ndarray, n_groups: int
    ) -> np.ndarray:
        loss = self.problem.loss
        left = loss.y[rows] - scores[rows, 0]
        unit = Totals.of(RowsHere(self.problem)).weight_unit
        weight: Any = in_units(loss.weight[rows], unit)
        return group_quantiles(left, weight, group, n_groups, loss.quantile)

    # ----------------------------------------------------------------- trees

    def placed(
        self,
        tree: Tree,
        g: np.ndarray,
        h: np.ndarray,
        before: np.ndarray,
        scores: np.ndarray,
        direction: np.ndarray | None,
    ) -> Tree:
        """The tree with sides and departures of new tasks; scores are added to."""
        rows = self.rows[tree.output]
        sets = tree.sets.copy()
        leaf = self._leaves(tree, rows, g, h, sets)
        n_leaves, n_new = len(tree.leaf_values), self.n_new
        pair = leaf * n_new + self.code[rows]

        def table(values: np.ndarray) -> np.ndarray:
            out = np.bincount(pair, values[rows], minlength=n_leaves * n_new)
            return out.reshape(n_leaves, n_new).astype(np.float64)

        G, H, step = table(g), table(h), _leaf_steps(tree)[:, None]
        left, learned = G + H * step, tree.penalty
        if self.learns:
            learned = _own_penalty(left, H, tree.noise)
        penalty = _penalties(left, H, tree.noise, learned)
        departures = np.zeros_like(G)
        if self.task_values and np.isfinite(penalty).any():
            if self.problem.loss.by_quantile:
                value = tree.leaf_values[:, None]
                found = self._quantiles(before, rows, pair, n_leaves * n_new)
                departures = tree.rate * found.reshape(G.shape) - value
                departures *= fraction_of(H, penalty)
            else:
                below = np.maximum(H + penalty, 1e-300)
                both = step - left / below
                low, high = _leaf_bounds(tree, direction)
                both = self.problem.loss.limited(np.clip(both, low, high))
                departures = tree.rate * (both - self.problem.loss.limited(step))
            departures[fraction_of(H, penalty) <= LEAST_FRACTION] = 0.0
        scores[rows, tree.output] += (
            tree.leaf_values[leaf] + departures[leaf, self.code[rows]]
        )
        where = np.nonzero(departures)
        every = [
            np.concatenate([old, more])
            for old, more in zip(
                tree.departures,
                (where[0], self.new[where[1]].astype(np.int32), departures[where]),
                strict=True,
            )
        ]
        order = np.lexsort([every[1], every[0]])
        merged = every[0][order], every[1][order], every[2][order]
        return replace(tree, sets=sets, departures=merged, penalty=learned)

    def _leaves(
        self,
        tree: Tree,
        rows: np.ndarray,
        g: np.ndarray,
        h: np.ndarray,
        sets: np.ndarray,
    ) -> np.ndarray:
        """The leaf of each row; bits of new tasks at task splits are set.

        Rows run down both sides of a task split. Each task then takes the side whose
        leaves fit its rows better, by the likelihood of normal gradients, and by the
        curvature of the sides as the prior.
        """
        nodes, n = tree.nodes, len(tree.nodes)
        feature, first_child = nodes["feature"].tolist(), nodes["left"].tolist()
        bins, code = self.problem.binned.bins[rows], self.code[rows]
        g, h = g[rows], h[rows]
        at: list[np.ndarray] = [np.empty(0, dtype=np.intp)] * n
        masks: list[np.ndarray] = [np.empty(0, dtype=bool)] * n
        at[0] = np.arange(len(rows))
        for i in range(n):  # children come after their parents
            left = first_child[i]
            if feature[i] == TASK:
                at[left] = at[left + 1] = at[i]
            elif feature[i] != LEAF:
                masks[i] = _goes_left(tree, nodes[i], bins[at[i], feature[i]])
                at[left], at[left + 1] = at[i][masks[i]], at[i][~masks[i]]
        loss, found = np.zeros((n, self.n_new)), list(at)
        for i in reversed(range(n)):
            here, left = code[at[i]], first_child[i]
            if feature[i] == LEAF:
                G = np.bincount(here, g[at[i]], minlength=self.n_new)
                H = np.bincount(here, h[at[i]], minlength=self.n_new)
                loss[i] = G * tree.value[i] + H * tree.value[i] ** 2 / 2
                found[i] = np.full(len(here), left)
            elif feature[i] == TASK:
                prior = np.log(tree.weight[left]) - np.log(tree.weight[left + 1])
                better = loss[left + 1] - loss[left] + tree.noise * prior
                none = np.bincount(here, minlength=self.n_new) == 0
                goes = np.where(
                    none | (better == 0), nodes["default_left"][i] > 0, better > 0
                )
                _set_bits(sets, nodes["first_byte"][i], self.new, goes)
                loss[i] = np.where(goes, loss[left], loss[left + 1])
                found[i] = np.where(goes[here], found[left], found[left + 1])
            else:
                loss[i] = loss[left] + loss[left + 1]
                found[i] = np.empty(len(here), dtype=np.intp)
                found[i][masks[i]], found[i][~masks[i]] = found[left], found[left + 1]
        return found[0]


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _goes_left(tree: Tree, node: np.void, code: np.ndarray) -> np.ndarray:
    if node["first_byte"] < 0:
        left = code <= node["bin"]
    else:
        byte = tree.sets[node["first_byte"] + np.minimum(code >> 3, 31)]
        left = (byte >> (code & 7) & 1) > 0
    return np.where(code >= node["n_bins"], node["default_left"] > 0, left)


def _set_bits(
    sets: np.ndarray, first: int, tasks: np.ndarray, goes: np.ndarray
) -> None:
    """Write which tasks go left."""
    byte, bit = first + (tasks >> 3), np.uint8(1) << (tasks & 7).astype(np.uint8)
    np.bitwise_and.at(sets, byte, ~bit)
    np.bitwise_or.at(sets, byte[goes], bit[goes])


def _leaf_steps(tree: Tree) -> np.ndarray:
    """Newton steps of the leaves, before what limits and scales them."""
    at = np.flatnonzero(tree.nodes["feature"] == LEAF)
    out = np.empty(len(at))
    out[tree.nodes["left"][at]] = tree.value[at]
    return out


def _leaf_bounds(
    tree: Tree, direction: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the steps in the leaves, by the constraints of splits above."""
    nodes, n = tree.nodes, len(tree.nodes)
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    if direction is not None:
        for i in np.flatnonzero(nodes["feature"] != LEAF):
            sides = np.array([0, 1]) + nodes["left"][i]
            low[sides], high[sides] = low[i], high[i]
            feature = nodes["feature"][i]
            rises = 0 if feature == TASK else direction[feature]
            if rises:
                upper, lower = sides if rises > 0 else sides[::-1]
                high[upper] = low[lower] = tree.value[sides].mean()
    at = np.flatnonzero(nodes["feature"] == LEAF)
    at = at[np.argsort(nodes["left"][at])]
    return low[at, None], high[at, None]


def _penalties(
    left: np.ndarray, h: np.ndarray, noise: float, learned: float
) -> np.ndarray:
    """The penalty on departures of each task: the learned one, unless it is unlike all.

    Where its departures are larger than noise and penalty explain, by three standard
    deviations, they are measured by themselves.
    """
    out = np.full(h.shape[1], learned)
    spread = np.divide(left**2, h, out=np.zeros_like(h), where=h > 0).sum(axis=0)
    expected = np.where(h > 0, noise + h * (noise / max(learned, 1e-300)), 0.0)
    bar = expected.sum(axis=0) + _UNLIKE * np.sqrt(2 * (expected**2).sum(axis=0))
    for t in np.flatnonzero(spread > bar):
        out[t] = _own_penalty(left[:, t], h[:, t], noise)
    return out


def _own_penalty(left: np.ndarray, h: np.ndarray, noise: float) -> float:
    """The penalty on departures from what is known, by the departures themselves."""
    has = h > 0
    excess = float((left[has] ** 2 / h[has]).sum()) - np.count_nonzero(has) * noise
    if not (np.isfinite(noise) and excess > 0):
        return np.inf
    return noise * float(h[has].sum()) / excess
