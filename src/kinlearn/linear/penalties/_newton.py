"""Newton's method for the blocks that are not zero, where the penalty is smooth.

Block descent lowers the objective fast and its gradient slowly, and the duality gap is
as large as the gradient is. On features whose blocks are not zero the objective has
second derivatives: the tasks' own, and those of the lengths of the blocks, which tie
the tasks. Conjugate gradients solve for the step, preconditioned block by block.
"""

from dataclasses import dataclass, replace

import numpy as np

from kinlearn.linear.penalties._design import Design
from kinlearn.linear.penalties._losses import Loss
from kinlearn.linear.penalties._solution import Solution

__all__ = ["newton_step"]

_MOST_STEPS = 100  # of conjugate gradients
_MOST_HALVINGS = 5
_FLAT = 1e-10  # curvature, relative to that of the features by themselves


@dataclass(frozen=True, eq=False)
class _Curvature:
    """Second derivatives at some coefficients W, of shape (n_active, n_outputs)."""

    design: Design
    features: np.ndarray
    v: np.ndarray
    total: np.ndarray
    own: np.ndarray
    unit: np.ndarray
    price: np.ndarray

    def centred_scores(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores less the means by output, and these means."""
        where = self.design.layout
        coef = np.zeros((self.design.n_features, V.shape[1]))
        coef[self.features] = V
        scores = self.design.scores(coef, self.features)
        mean = where.sums(self.v * scores) / self.total
        return scores - mean[where.pair_output], mean

    def times(self, V: np.ndarray) -> np.ndarray:
        """The second derivatives times V."""
        scores, _ = self.centred_scores(V)
        across = (self.unit * V).sum(axis=1, keepdims=True)
        penalty = self.price * (V - self.unit * across)
        return self.design.gradients(self.v * scores, self.features) + penalty

    def solved(self, B: np.ndarray) -> np.ndarray:
        """The same without what ties features, inverted, times B."""
        diagonal = self.own + self.price
        left, right = B / diagonal, self.unit / diagonal
        rest = 1.0 - self.price[:, 0] * (self.unit * right).sum(axis=1)
        rest = np.maximum(rest, 1e-10)
        across = self.price[:, 0] * (self.unit * left).sum(axis=1) / rest
        return left + right * across[:, None]


def newton_step(
    design: Design,
    loss: Loss,
    alpha: float,
    now: Solution,
    scores: np.ndarray,
    features: np.ndarray,
    tol: float,
) -> tuple[Solution, np.ndarray] | None:
    """A step that makes the gradient small where blocks are not zero.

    Parameters
    ----------
    design, loss : Design, Loss
        The problem; coefficients have one part.
    alpha : float
        Factor of the penalty.
    now : Solution
        Coefficients.
    scores : float64 array of shape (n_pairs,)
        Theirs.
    features : intp array
        Those whose blocks are not zero.
    tol : float
        The gradient that is left, relative to that before.

    Returns
    -------
    (Solution, scores) or None
        None if no step lowers the objective.
    """
    where, W = design.layout, now.shared[features]
    point, v = loss.derivatives(scores)
    total = where.sums(v)
    length = np.sqrt((W**2).sum(axis=1, keepdims=True))
    _, own = design.moments(v, features)
    total = np.where(total > 0, total, 1.0)
    H = _Curvature(design, features, v, total, own, W / length, alpha / length)
    step = _conjugate_gradients(
        H, design.gradients(point, features) - alpha * W / length, tol
    )
    change, mean = H.centred_scores(step)

    def objective(W: np.ndarray, scores: np.ndarray) -> float:
        lengths = float(np.sqrt((W**2).sum(axis=1)).sum())
        return loss.value(scores) + alpha * lengths

    before, size = objective(W, scores), 1.0
    for _ in range(_MOST_HALVINGS):
        if objective(W + size * step, scores + size * change) <= before:
            shared = now.shared.copy()
            shared[features] += size * step
            intercept = now.intercept - size * mean
            new = replace(now, shared=shared, intercept=intercept)
            return new, scores + size * change
        size /= 2
    return None


def _conjugate_gradients(H: _Curvature, B: np.ndarray, tol: float) -> np.ndarray:
    """The solution of H V = B, about."""
    V, rest = np.zeros_like(B), B
    Z = H.solved(rest)
    along, size = Z, float(np.vdot(rest, Z))
    least = tol * float(np.sqrt((B**2).sum(axis=1)).max(initial=0.0))
    for _ in range(_MOST_STEPS):
        if np.sqrt((rest**2).sum(axis=1)).max(initial=0.0) <= least:
            break
        curved = H.times(along)
        curvature = float(np.vdot(along, curved))
        if curvature <= _FLAT * float(np.vdot(along, (H.own + H.price) * along)):
            break  # as of one task with more features than rows
        length = size / curvature
        V, rest = V + length * along, rest - length * curved
        Z = H.solved(rest)
        size, before = float(np.vdot(rest, Z)), size
        along = Z + size / before * along
    return V
