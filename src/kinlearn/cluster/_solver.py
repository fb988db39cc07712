"""Symmetric NMF with tasks: the objective, its minimum, and the check of it.

In the thesis's symbols: W the affinity, V the factor, H the rows of tasks, K the
contrasts of clusters, alpha the weight of the penalty. Weights of tasks (the lambdas)
are in W already; `weight` is how much a cell counts in the loss::

    J(V) = 1/2 sum_ts weight_ts |W_ts / weight_ts - V_t V_s'|^2 + sum_t s_t' P_t s_t

with s_t the sums of task t's rows of V, and P_t = alpha_t K K'.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

from kinlearn.cluster._affinity import Affinity, TermAffinity

__all__ = [
    "LARGE_RESIDUAL",
    "Problem",
    "Solution",
    "contrasts",
    "fold_in",
    "solve_starts",
]

LARGE_RESIDUAL = 0.01
# What is done beside the sweeps. Figures are of fits without it, over 10 seeds each of
# made-up terms (loosely and closely coupled tasks), RBF data, WebKB and 20 Newsgroups.
# Renaming: with 10 loosely coupled tasks the objective is 1.5% higher (all seeds) and
# the accuracy 24 points lower; higher on 5 of 50 others. It takes 2 to 26% of the time.
_RENAMINGS = 50
# Escapes: the objective is higher on 2 of 60 (below 0.1%), for n_init=1 on 3 of 40 (up
# to 3.8%), for tol=1e-3 on 13 of 30 (up to 1.3%). They take 11 to 36% of the time.
_ESCAPES = 20
_LANCZOS_STEPS = 30
# Finishing: for balance=30 the objective is higher on 40 of 40 (0.1 to 5%), for
# tol=1e-3 on 13 of 30; else it changes nothing, and takes up to 4% of the time.
_FINISHES = 3


def contrasts(n_clusters: int, shares: np.ndarray) -> np.ndarray:
    """The form ``K K'`` of each task that is zero where clusters have the given shares.

    The sum over all pairs of clusters a, b of ``(s_a / p_a - s_b / p_b)^2``, with p
    scaled so that equal shares are 1, and the sum so that two clusters are the
    thesis's K = (1, -1).
    """
    inverse = 1.0 / (n_clusters * shares)
    centre = np.eye(n_clusters) - 1.0 / n_clusters
    return np.ascontiguousarray(
        2.0 * inverse[:, :, None] * centre * inverse[:, None, :]
    )


@dataclass(frozen=True, eq=False)
class Solution:
    """What one start came to."""

    V: np.ndarray
    objective: np.ndarray  # by component of tasks
    n_iter: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Problem:
    """An objective, as the kernels take it.

    Attributes
    ----------
    affinity : Affinity or TermAffinity
        W.
    task : int32 array of shape (n,)
        Task codes.
    order : intp array
        The rows in the order of their turns, which must not depend on how the
        caller happened to sort them. Rows without affinity are not among them, and
        stay zero: else the penalty would use them to even out the shares.
    weight : array of shape (n_tasks, n_tasks)
        Weight of a cell in the loss, by the tasks of its row and column.
    penalty : array of shape (n_tasks, k, k)
        P.
    constant : array of shape (n_components,)
        The objective of V = 0.
    component : int array of shape (n_tasks,)
        Which tasks have to do with each other.
    """

    affinity: Affinity | TermAffinity
    task: np.ndarray
    order: np.ndarray
    weight: np.ndarray
    penalty: np.ndarray
    constant: np.ndarray
    component: np.ndarray

    @classmethod
    def build(
        cls,
        affinity: Affinity | TermAffinity,
        order: np.ndarray,
        weight: np.ndarray,
        balance: float,
        shares: np.ndarray,
    ) -> Self:
        """Scale the penalty to the affinity and add what does not change.

        `balance` is the penalty in units of the task's own mean affinity; the order of
        turns is of all rows.
        """
        n_tasks, k = shares.shape
        task = affinity.task
        counts = np.bincount(task, minlength=n_tasks)
        mean: np.ndarray = np.zeros(n_tasks)  # affinity within the task
        if balance > 0:
            inside = affinity.product_inside(np.ones((len(task), 1))).ravel()
            mean = np.bincount(task, weights=inside, minlength=n_tasks)
            mean = mean / np.maximum(counts * (counts - 1), 1)
        mean[counts < k] = 0.0  # too few rows to hold every cluster
        inverse = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0)
        n_components, component = connected_components(weight > 0, directed=False)
        squares = affinity.squares(inverse)
        order = order[affinity.degrees[order] > 0]
        return cls(
            affinity=affinity,
            task=task,
            order=order,
            weight=weight,
            penalty=np.multiply(
                (balance * mean)[:, None, None], contrasts(k, shares), order="C"
            ),
            constant=0.5
            * np.bincount(component, weights=squares, minlength=n_components),
            component=component,
        )

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.penalty.shape[1]

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """A random factor whose product is of the affinity's size."""
        n, k = len(self.task), self.n_clusters
        mean = self.affinity.degrees.sum() / n**2
        V = np.zeros((n, k))
        V[self.order] = 2.0 * np.sqrt(mean / k) * rng.random((len(self.order), k))
        return V

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """Sums over the rows of each task."""
        out = np.zeros((len(self.weight), *rows.shape[1:]))
        np.add.at(out, self.task, rows)
        return out

    def _grams(self, V: np.ndarray, U: np.ndarray) -> np.ndarray:
        """``V_t' U_t`` of each task."""
        n, columns = self.n_tasks, range(V.shape[1])
        products = [
            [np.bincount(self.task, V[:, a] * U[:, b], minlength=n) for b in columns]
            for a in columns
        ]
        return np.ascontiguousarray(np.moveaxis(np.array(products), -1, 0))

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.weight)

    def _mixed(self, grams: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.tensordot(self.weight, grams, axes=1))

    def mixed_grams(self, V: np.ndarray) -> np.ndarray:
        """Weighted Gram matrices ``sum_s weight_ts V_s' V_s`` of each task."""
        return self._mixed(self._grams(V, V))

    def best(self, solutions: Sequence[Solution]) -> Solution:
        """The best start; of components that share nothing, the best of each."""
        first = solutions[0]
        values = np.array([each.objective for each in solutions])
        winners = values.argmin(axis=0)
        V = first.V.copy()
        row_component = self.component[self.task]
        for c, winner in enumerate(winners):
            V[row_component == c] = solutions[winner].V[row_component == c]
        taken = [solutions[winner] for winner in np.unique(winners)]
        return Solution(
            V,
            values.min(axis=0),
            max(each.n_iter for each in taken),
            all(each.converged for each in taken),
        )

    def objectives(
        self, V: np.ndarray, product: np.ndarray | None = None
    ) -> np.ndarray:
        """The objective by component of tasks; `product` is W V if it is known."""
        product = self.affinity.product(V) if product is None else product
        fit = self.sums((V * product).sum(axis=1))
        grams = self._grams(V, V)
        cells = 0.5 * (grams * self._mixed(grams)).sum(axis=(1, 2))
        sums = self.sums(V)
        penalty = np.einsum("tj,tjm,tm->t", sums, self.penalty, sums)
        rest = np.bincount(
            self.component, weights=cells + penalty - fit, minlength=len(self.constant)
        )
        return self.constant + rest

    def gradient(self, V: np.ndarray) -> np.ndarray:
        """The gradient of the objective."""
        mixed = self.mixed_grams(V)[self.task]
        push = np.einsum("tjm,tm->tj", self.penalty, self.sums(V))[self.task]
        return 2.0 * (np.einsum("ij,ijm->im", V, mixed) + push) - (
            2.0 * self.affinity.product(V)
        )

    def residual(self, V: np.ndarray) -> float:
        """How far V is from stationary: the projected gradient, relative.

        The norm of the gradient, without what only points below zero, over the norm of
        its part ``2 W V``.
        """
        gradient = self.gradient(V)[self.order]
        gradient[(V[self.order] <= 0) & (gradient > 0)] = 0.0
        size = 2.0 * np.linalg.norm(self.affinity.product(V))
        return float(np.linalg.norm(gradient) / size) if size > 0 else 0.0

    def curve(self, V: np.ndarray, D: np.ndarray) -> np.ndarray:
        """Product of the objective's second derivative at V with D."""
        change = self._grams(D, V)
        change = self._mixed(change + change.transpose(0, 2, 1))[self.task]
        mixed = self.mixed_grams(V)[self.task]
        push = np.einsum("tjm,tm->tj", self.penalty, self.sums(D))[self.task]
        out = np.einsum("ij,ijm->im", V, change) + np.einsum("ij,ijm->im", D, mixed)
        return 2.0 * (out + push - self.affinity.product(D))

    def descent(self, V: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
        """A direction along which the objective bends down, if Lanczos finds one.

        Only entries of V, a stationary point, above zero move. The smallest Ritz value
        is never below the smallest curvature, so a negative one is a proof that V is a
        saddle. The direction is of length 1.
        """
        free = 1e-8 * V.max(initial=0.0) < V
        size = int(free.sum())
        if size < 2:
            return None
        q = np.zeros_like(V)
        q[self.order] = rng.standard_normal((len(self.order), V.shape[1]))
        q[~free] = 0.0
        q /= np.linalg.norm(q)
        basis, images = [], []
        for _ in range(min(_LANCZOS_STEPS, size)):
            basis.append(q)
            image = np.where(free, self.curve(V, q), 0.0)
            images.append(image)
            q = image
            for _ in range(2):  # twice is enough to stay orthogonal
                q = q - sum(np.vdot(b, q) * b for b in basis)
            length = np.linalg.norm(q)
            if length <= 1e-10 * np.linalg.norm(image):
                break
            q = q / length
        T = np.array([[np.vdot(b, image) for image in images] for b in basis])
        values, vectors = np.linalg.eigh((T + T.T) / 2)
        if values[0] >= -1e-5 * max(values[-1], 0.0):
            return None
        return sum(c * b for c, b in zip(vectors[:, 0], basis, strict=True))

    def minimise(
        self,
        V: np.ndarray,
        *,
        tol: float,
        max_iter: int,
        stop: Callable[[], bool] = lambda: False,
    ) -> Solution:
        """Sweep from V, which changes, until the objective falls little.

        That is by less than `tol` of the objective of V = 0, or `max_iter` times, or
        until `stop`, which is called between sweeps, is True.
        """
        k = self.n_clusters
        state = [self.mixed_grams(V), self.sums(V), self.weight, self.penalty]
        sweep = self.affinity.sweeper(self.order, V, [*state, np.empty(k * (k + 3))])
        least = tol * float(self.constant.sum())
        n_iter, converged = 0, False
        while n_iter < max_iter and not converged and not stop():
            converged = sweep() <= least
            n_iter += 1
        return Solution(V, self.objectives(V), n_iter, converged)

    def settle(
        self,
        V: np.ndarray,
        *,
        tol: float,
        max_iter: int,
        stop: Callable[[], bool] = lambda: False,
    ) -> Solution:
        """Sweep, and while it lowers the objective rename the clusters of a task.

        Sweeps move one entry at a time, and cannot exchange the clusters of a whole
        task, which must pass through a much worse V. See `minimise` for the parameters.
        """
        settings: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "stop": stop}
        found = self.minimise(V, **settings)
        for _ in range(_RENAMINGS):
            renamed = None if stop() else self._rename(found)
            if renamed is None:
                break
            found = self._go_on(found, renamed, **settings)
        return found

    def _go_on(self, solution: Solution, V: np.ndarray, **settings: Any) -> Solution:
        """Sweep from V on; the sweeps so far are counted."""
        found = self.minimise(V, **settings)
        return replace(found, n_iter=solution.n_iter + found.n_iter)

    def _rename(self, solution: Solution) -> np.ndarray | None:
        """V with the clusters of tasks renamed to fit the others; None if none is."""
        V, k = solution.V.copy(), self.n_clusters
        if self.n_tasks == len(self.constant) or k == 1:
            return None  # no task has to do with another
        best = solution.objective.sum() * (1 - 1e-9)
        moved = False
        product = self.affinity.product(V)
        for _ in range(_RENAMINGS):
            between = product - self.affinity.product_inside(V)
            fit = self._grams(V, between)  # of each task's clusters to all names
            names = np.array([linear_sum_assignment(-each)[1] for each in fit])
            places = np.arange(k)
            now = fit[:, places, places].sum(axis=1)
            gain = fit[np.arange(len(fit))[:, None], places, names].sum(axis=1) - now
            t = int(gain.argmax())
            if gain[t] <= 1e-9 * np.vdot(V, product):  # rounding, if it is anything
                break
            rows = self.task == t
            W = V.copy()
            W[np.ix_(rows, names[t])] = V[rows]
            renamed = self.affinity.product(W)
            value = self.objectives(W, renamed).sum()
            if value >= best:
                break
            V, product, best, moved = W, renamed, value, True
        return V if moved else None

    def polish(
        self, solution: Solution, rng: np.random.Generator, *, tol: float, max_iter: int
    ) -> Solution:
        """Leave saddles until no direction of descent is found.

        What is returned is a local minimum, as far as the check can find.
        """
        solution = self._finish(solution, tol, max_iter)
        for _ in range(_ESCAPES):
            direction = self.descent(solution.V, rng)
            if direction is None:
                break
            better = self._step_down(solution, direction)
            if better is None:
                break
            solution = self._go_on(solution, better, tol=tol, max_iter=max_iter)
        return self._finish(solution, tol, max_iter)

    def _finish(self, solution: Solution, tol: float, max_iter: int) -> Solution:
        """Sweep on where the objective falls slowly, but is far from stationary."""
        for _ in range(_FINISHES):
            if not solution.converged or self.residual(solution.V) <= LARGE_RESIDUAL:
                break
            tol *= 0.1
            solution = self._go_on(solution, solution.V, tol=tol, max_iter=max_iter)
        return solution

    def _step_down(
        self, solution: Solution, direction: np.ndarray
    ) -> np.ndarray | None:
        before = solution.objective.sum()
        step = np.linalg.norm(solution.V)
        for _ in range(20):
            for sign in (1.0, -1.0):
                V = np.maximum(solution.V + sign * step * direction, 0.0)
                if self.objectives(V).sum() < before - 1e-12 * abs(before):
                    return V
            step *= 0.5
        return None


def solve_starts(
    problem: Problem,
    seeds: Sequence[np.random.SeedSequence],
    *,
    n_jobs: int,
    descend: Callable[..., Solution],
) -> Iterator[Solution]:
    """Yield the solutions of random starts in order, solved on threads.

    ``descend(V, stop=...)`` solves one from V, until `stop` returns True.

    The caller's thread only waits, so Ctrl-C reaches it at once; then all starts
    end after their sweep.
    """
    stopped: list[bool] = []

    def solve(seed: np.random.SeedSequence) -> Solution:
        V = problem.start(np.random.default_rng(seed))
        return descend(V, stop=lambda: bool(stopped))

    pool = ThreadPoolExecutor(n_jobs)
    try:
        waiting = [pool.submit(solve, seed) for seed in seeds]
        waiting.reverse()
        while waiting:
            yield waiting.pop().result()
    finally:
        stopped.append(True)
        pool.shutdown(cancel_futures=True)


def fold_in(gram: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """Minimise ``v'Gv - 2 v'b`` over v >= 0 for every row b, by coordinates."""
    V = np.zeros_like(pull)
    for _ in range(200):
        before = V.copy()
        for j in range(len(gram)):
            if gram[j, j] > 0:
                rest = pull[:, j] - V @ gram[j] + V[:, j] * gram[j, j]
                V[:, j] = np.maximum(rest / gram[j, j], 0.0)
        if np.abs(V - before).max(initial=0.0) <= 1e-10 * np.abs(V).max(initial=0.0):
            break
    return V
