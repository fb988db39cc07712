"""One penalty's coefficients for one alpha: block descent, or proximal gradient steps.

Both stop by the duality gap, which bounds how far the objective is above its least
value.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinlearn.linear.penalties._design import Design
from kinlearn.linear.penalties._losses import Loss
from kinlearn.linear.penalties._newton import newton_step
from kinlearn.linear.penalties._penalties import BlockPenalty
from kinlearn.linear.penalties._solution import Solution

__all__ = ["Start", "solve", "start_of"]

_GAP_EVERY = 10  # proximal steps
_ROUGHLY = 1e-6  # how far from their best intercepts may be between gaps
_MOST_SWEEPS = 200
_ANDERSON = 5  # sweeps that are extrapolated from
_NEWTON_STEPS = 20  # on one working set
_FIRST_SET = 16  # features
_FINEST = 1e-10  # of the gap, for the sweeps
_MOST_STALLED = 10  # sets of features; then rounding lets no step get closer


@dataclass(frozen=True, eq=False)
class Start:
    """What is known of a problem before it is solved for any alpha.

    Attributes
    ----------
    design : Design
        Features.
    loss : Loss
        Loss of scores.
    penalty : BlockPenalty or OutputPenalty
        Of coefficients.
    solution : Solution
        Intercepts alone.
    null_loss : float
        Their loss, in whose units gaps are measured.
    largest_alpha : float
        Above it all coefficients are 0, or nearly so.
    curvature : float
        Bound of the loss's curvature, for proximal steps.
    """

    design: Design
    loss: Loss
    penalty: Any
    solution: Solution
    null_loss: float
    largest_alpha: float
    curvature: float


def start_of(design: Design, loss: Loss, penalty: Any) -> Start:
    """Fit the intercepts, and find where paths begin."""
    n = design.layout.n_outputs
    scores = np.zeros(design.layout.pair_ptr[-1])
    scores, intercept = loss.balance(scores, np.zeros(n))
    point = loss.dual_point(scores)
    curvature = 0.0
    if isinstance(penalty, BlockPenalty):
        largest = _dual_norms(design, penalty, point).max(initial=0.0)
    else:
        curvature = loss.most_curvature * design.largest_curvature(loss.weight)
        largest = penalty.largest_alpha(design.gradients(point), curvature)
    zero = np.zeros((design.n_features, n))
    two = isinstance(penalty, BlockPenalty) and penalty.own_price < np.inf
    empty = Solution(zero, zero.copy() if two else np.zeros((0, n)), intercept)
    value = loss.value(scores)
    return Start(design, loss, penalty, empty, value, float(largest), curvature)


def solve(
    start: Start, alpha: float, before: Solution, tol: float, max_iter: int
) -> Solution:
    """Minimise the objective for one alpha, from coefficients of another."""
    # a loss that may go to 0 leaves rounding of the targets alone
    target = tol * start.null_loss + 1e-15 * float(start.loss.weight @ start.loss.y**2)
    if isinstance(start.penalty, BlockPenalty):
        return _descend(start, alpha, before, target, max_iter)
    return _proximal_steps(start, alpha, before, target, max_iter)


# ------------------------------------------------------------------- blocks of features


def _dual_norms(design: Design, penalty: BlockPenalty, point: np.ndarray) -> np.ndarray:
    norms = [
        penalty.dual_norms(design.gradients(point, some)) for some in design.chunks()
    ]
    return np.concatenate([np.zeros(0), *norms])


def _descend(
    start: Start, alpha: float, before: Solution, target: float, max_iter: int
) -> Solution:
    """Block descent over a working set of features that grows with what violates."""
    design, loss, penalty = start.design, start.loss, start.penalty
    now = _two_parts(before)
    active = _active(now)
    scores = design.scores(now.coef, active) + now.intercept[loss.layout.pair_output]
    features = active
    size, gap, n_iter, fineness, stalled = _FIRST_SET, np.inf, 0, 0.001, 0
    one_part = penalty.own_price == np.inf
    smooth, refined = one_part and loss.is_separate, False
    while True:
        scores, intercept = loss.balance(scores, now.intercept)
        now = replace(now, intercept=intercept)
        point = loss.dual_point(scores)
        norms = _dual_norms(design, penalty, point)
        factor = min(1.0, alpha / max(norms.max(initial=0.0), 1e-300))
        objective = loss.value(scores) + alpha * penalty.value(now.shared, now.own)
        last, gap = gap, objective - loss.dual_value(factor * point)
        stalled = stalled + (not refined) if gap > 0.9 * last else 0
        if gap <= target or n_iter == max_iter or stalled == _MOST_STALLED:
            break
        n_iter += 1
        active = _active(now)
        if gap > 0.5 * last:
            most = np.argmax(norms)
            if smooth and not refined and np.isin(most, active):
                tol = min(max(0.3 * target / gap, 1e-4), 0.1)
                found = newton_step(design, loss, alpha, now, scores, active, tol)
                refined = True
                if found is not None:
                    now, scores = found
                    continue
            if np.isin(most, features):  # worked on, not closely enough
                fineness = max(0.1 * fineness, _FINEST)
            else:
                size *= 2
        refined = False
        size = max(size, 2 * len(active))
        norms[active] = np.inf
        features = np.sort(np.argsort(-norms, kind="stable")[:size])
        features = features[norms[features] > 0.5 * alpha]
        now, scores = _work_on(start, alpha, now, scores, features, fineness * gap)
    return replace(
        now,
        own=before.own if one_part else now.own,
        alpha=alpha,
        objective=objective,
        gap=max(gap, 0.0),
        n_iter=n_iter,
        converged=bool(gap <= target),
    )


def _two_parts(before: Solution) -> Solution:
    """A copy that the kernel may change, with two parts."""
    own = before.own.copy() if before.own.size else np.zeros_like(before.shared)
    return replace(before, shared=before.shared.copy(), own=own)


def _active(now: Solution) -> np.ndarray:
    return np.flatnonzero((now.shared != 0).any(axis=1) | (now.own != 0).any(axis=1))


def _work_on(
    start: Start,
    alpha: float,
    now: Solution,
    scores: np.ndarray,
    features: np.ndarray,
    inner: float,
) -> tuple[Solution, np.ndarray]:
    """Newton steps of the loss, each solved by sweeps over the features."""
    loss = start.loss
    steps = _Steps(start, alpha, features, now)
    seen = [steps.pack(now, scores)]
    for _ in range(1 if loss.is_quadratic else _NEWTON_STEPS):
        point, v = loss.derivatives(scores)
        shared, own, q, offset = _sweep(steps, v, now, point.copy(), inner)
        change = (point - q) / v - offset[loss.layout.pair_output]
        new = replace(now, shared=shared, own=own, intercept=now.intercept - offset)
        if loss.is_quadratic:
            return new, scores + change
        old_value, step = steps.objective(now, scores), 1.0
        most = old_value * (1 + 1e-14)  # or rounding would end it too early
        while True:  # the objective is convex along the way, and falls at its start
            there = _between(now, new, step)
            value = steps.objective(there, scores + step * change)
            if value <= most or step < 1e-6:
                break
            step /= 2
        if value > most:
            break
        now, scores = there, scores + step * change
        if old_value - value <= 0.1 * inner:
            break
        seen.append(steps.pack(now, scores))
        if len(seen) > _ANDERSON:
            tried = steps.unpack(_extrapolated(seen, steps.n_coef), now)
            if steps.objective(*tried) < value:
                now, scores = tried
            seen = [steps.pack(now, scores)]
    return now, scores


def _extrapolated(seen: list[np.ndarray], n_coef: int) -> np.ndarray:
    """Anderson's combination of iterates: that whose coefficients changed least."""
    U = np.diff(np.array([each[:n_coef] for each in seen]), axis=0)
    gram = U @ U.T
    gram[np.diag_indices(len(gram))] += 1e-12 * np.trace(gram)
    mix = np.linalg.solve(gram, np.ones(len(gram)))
    return mix / mix.sum() @ np.array(seen[1:])


@dataclass(frozen=True, eq=False)
class _Steps:
    """Coefficients of some features, with intercepts and scores, as one vector.

    Scores and residuals are affine in the coefficients, so that a combination of
    vectors needs no pass over the rows.
    """

    start: Start
    alpha: float
    features: np.ndarray
    first: Solution

    @property
    def two(self) -> bool:
        """Whether coefficients have two parts."""
        return self.start.penalty.own_price < np.inf

    @property
    def n_coef(self) -> int:
        """Numbers of a vector that are coefficients."""
        size = len(self.features) * len(self.first.intercept)
        return 2 * size if self.two else size

    def pack(self, now: Solution, pairs: np.ndarray) -> np.ndarray:
        """The vector of a solution and a number for each pair."""
        parts = [now.shared[self.features].ravel()]
        parts += [now.own[self.features].ravel()] if self.two else []
        return np.concatenate([*parts, now.intercept, pairs])

    def unpack(self, vector: np.ndarray, now: Solution) -> tuple[Solution, np.ndarray]:
        """What a vector stands for; other features are as in `now`."""
        n, n_outputs = self.n_coef, len(now.intercept)
        half = n // 2 if self.two else n
        shared, own = now.shared.copy(), now.own
        shared[self.features] = vector[:half].reshape(len(self.features), -1)
        if self.two:
            own = own.copy()
            own[self.features] = vector[half:n].reshape(len(self.features), -1)
        intercept, pairs = np.split(vector[n:].copy(), [n_outputs])
        return replace(now, shared=shared, own=own, intercept=intercept), pairs

    def objective(self, now: Solution, scores: np.ndarray) -> float:
        """The objective of coefficients and their scores."""
        penalty = self.start.penalty.value(now.shared, now.own)
        return self.start.loss.value(scores) + self.alpha * penalty


def _sweep(
    steps: _Steps, v: np.ndarray, now: Solution, q: np.ndarray, inner: float
) -> tuple[np.ndarray, ...]:
    """Sweeps until one changes little: coefficients, weighted residuals, offsets."""
    start, features, alpha = steps.start, steps.features, steps.alpha
    first, curvature = start.design.moments(v, features)
    own_alpha = alpha * start.penalty.own_price
    # the kernel changes these; offsets, which make residuals sum to 0, stand where
    # intercepts do
    sums = start.loss.layout.sums
    total = sums(v)
    offset = -sums(q) / np.where(total > 0, total, 1.0)
    now = replace(now, shared=now.shared.copy(), own=now.own.copy(), intercept=offset)

    def objective(now: Solution, q: np.ndarray) -> float:
        rest = q / v + now.intercept[start.loss.layout.pair_output]
        penalty = start.penalty.value(now.shared, now.own)
        return 0.5 * float(v @ rest**2) + alpha * penalty

    seen = [steps.pack(now, q)]
    for _ in range(_MOST_SWEEPS):
        fell = start.design.sweeps(
            v, features, first, curvature, now.shared, now.own, q, now.intercept,
            alpha, own_alpha, 0.0, 1,
        )  # fmt: skip
        if fell <= inner:
            break
        seen.append(steps.pack(now, q))
        if len(seen) > _ANDERSON:
            tried = steps.unpack(_extrapolated(seen, steps.n_coef), now)
            if objective(*tried) < objective(now, q):
                now, q = tried
            seen = [steps.pack(now, q)]
    return now.shared, now.own, q, now.intercept


def _between(one: Solution, other: Solution, step: float) -> Solution:
    if step == 1.0:
        return other
    return replace(
        one,
        shared=one.shared + step * (other.shared - one.shared),
        own=one.own + step * (other.own - one.own),
        intercept=one.intercept + step * (other.intercept - one.intercept),
    )


# ----------------------------------------------------------------------- proximal steps


def _proximal_steps(
    start: Start, alpha: float, before: Solution, target: float, max_iter: int
) -> Solution:
    """Accelerated proximal gradient steps, which begin anew where they overshoot.

    The intercepts are moved to their best at every point, which keeps the curvature of
    the loss below its bound.
    """
    design, loss, penalty = start.design, start.loss, start.penalty
    output = loss.layout.pair_output
    curvature = max(start.curvature, 1e-300)
    W = before.shared
    here, intercept, momentum = W, before.intercept, 1.0
    n_iter, objective, gap = 0, np.inf, np.inf
    best = np.inf
    while True:
        if n_iter % _GAP_EVERY == 0 or n_iter >= max_iter:
            scores = design.scores(W) + intercept[output]
            scores, intercept = loss.balance(scores, intercept)
            point = loss.dual_point(scores)
            Z = design.gradients(point)
            factor, conjugate = penalty.conjugate(Z, alpha)
            objective = loss.value(scores) + alpha * penalty.value(W)
            gap = objective - loss.dual_value(factor * point) + conjugate
            if gap <= target or n_iter >= max_iter:
                break
            if objective > best + 0.1 * target:  # the bound was an estimate
                curvature, momentum, here = 1.5 * curvature, 1.0, W
            best = min(best, objective)
        scores = design.scores(here) + intercept[output]
        scores, intercept = loss.balance(scores, intercept, _ROUGHLY)
        G = design.gradients(loss.dual_point(scores))
        new = penalty.prox(here + G / curvature, alpha / curvature)
        if np.vdot(here - new, new - W) > 0:
            momentum = 1.0
        after = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        here = new + (momentum - 1) / after * (new - W)
        W, momentum = new, after
        n_iter += 1
    return replace(
        before,
        shared=W,
        intercept=intercept,
        alpha=alpha,
        objective=objective,
        gap=max(gap, 0.0),
        n_iter=n_iter,
        converged=bool(gap <= target),
    )
