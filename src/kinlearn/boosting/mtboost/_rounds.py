r"""The rounds of MTBoost: one learner for all tasks, a weight of it for each.

Symbols: F the scores so far, r the negative gradient of the loss at F, f a learner's
outputs, w its weights by problem (a task, or a class of a task against its others),
:math:`\Omega` the covariance of the weights, :math:`\lambda` the penalty. Slopes are
:math:`\beta_i = -\sum_j r_j f(x_j)`, the curvatures :math:`D_i = \kappa \sum_j s_j
f(x_j)^2`, where :math:`\kappa` bounds the second derivative of the loss and s weighs
the rows. The loss after a round is at most

.. math:: L(F) + w^\top \beta + \tfrac12 w^\top D w .

Every update of the weights lowers the sum of this bound and of :math:`\frac\lambda2
\operatorname{tr} \Omega^{-1} (W^\top W + \epsilon^2 I)`, so no round raises the
objective.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from kinlearn.boosting.mtboost._covariance import TaskCovariance
from kinlearn.boosting.mtboost._learners import EstimatorLearner, shape_outputs
from kinlearn.boosting.mtboost._least_squares import LeastSquares

__all__ = [
    "Learner",
    "LogisticLoss",
    "Loss",
    "Round",
    "Settings",
    "SquaredLoss",
    "find_later_weights",
    "play_rounds",
]

Learner: TypeAlias = LeastSquares | EstimatorLearner

_POWER_STEPS = 10
_MATRIX_PROBLEMS = 10  # up to which one product for each is cheaper than the steps
# Newton steps with a new covariance after each end in 5 to 30; where that turns
# slowly they go on.
_EXACT_STEPS = 200
_EXACT_TOL = 1e-6  # relative change of the weights
_HALVINGS = 30


class Loss(ABC):
    """Pairs of (row, problem), and sums over them.

    Parameters
    ----------
    row, problem : intp arrays of shape (n_pairs,)
        Which row, which problem.
    y : float64 array of shape (n_pairs,)
        Signs, or numbers.
    weight : float64 array of shape (n_rows,)
        Weights of the rows.
    n_problems : int
        Number of problems.
    """

    curvature: float

    def __init__(
        self,
        row: np.ndarray,
        problem: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        n_problems: int,
    ) -> None:
        self.row, self.problem, self.y = row, problem, y
        self.weight = weight
        self.pair_weight = weight[row]
        self.n_problems = n_problems

    def by_problem(self, values: np.ndarray) -> np.ndarray:
        """Sums of values of pairs."""
        return np.bincount(self.problem, values, minlength=self.n_problems)

    def by_row(self, values: np.ndarray) -> np.ndarray:
        """Sums of values of pairs."""
        return np.bincount(self.row, values, minlength=len(self.weight))

    def slope(self, residual: np.ndarray, output: np.ndarray) -> np.ndarray:
        """Derivatives of the loss by the problems' weights of a learner."""
        return -self.by_problem(residual * output[self.row])

    def bend(self, output: np.ndarray) -> np.ndarray:
        """Bounds of their second derivatives."""
        return self.curvature * self.by_problem(
            self.pair_weight * output[self.row] ** 2
        )

    def bend_at(self, scores: np.ndarray, output: np.ndarray) -> np.ndarray:
        """The second derivatives themselves, at scores."""
        own = self.curvatures(scores) * self.pair_weight
        return self.by_problem(own * output[self.row] ** 2)

    @abstractmethod
    def curvatures(self, scores: np.ndarray) -> np.ndarray:
        """Second derivatives of the loss of each pair without its weight."""

    @abstractmethod
    def value(self, scores: np.ndarray) -> float:
        """The loss of all pairs."""

    @abstractmethod
    def residual(self, scores: np.ndarray) -> np.ndarray:
        """Minus its derivative by the scores."""

    @abstractmethod
    def aim(
        self, residual: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What the next learner fits, given its weights so far.

        For each row the label times the root of its weight, and that root.
        """

    @abstractmethod
    def scale(self, output: np.ndarray) -> float:
        """What the outputs of a learner are multiplied with."""


class LogisticLoss(Loss):
    """ln(1 + exp(-y F)), with a second derivative of at most 1/4."""

    curvature = 0.25

    def curvatures(self, scores: np.ndarray) -> np.ndarray:
        return expit(scores) * expit(-scores)

    def value(self, scores: np.ndarray) -> float:
        return float(self.pair_weight @ np.logaddexp(0, -self.y * scores))

    def residual(self, scores: np.ndarray) -> np.ndarray:
        return self.pair_weight * self.y * expit(-self.y * scores)

    def aim(
        self, residual: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Signs, weighted by how much they matter.

        The best learner with values in {-1, 1} has the least weighted error. The
        weights sum to those of the rows.
        """
        pull = self.by_row(residual * weights[self.problem])
        root = np.sqrt(np.abs(pull))
        total = float(root @ root)
        root *= np.sqrt(self.weight.sum() / total) if total > 0 else 0.0
        return np.sign(pull) * root, root

    def scale(self, output: np.ndarray) -> float:
        return 1.0  # they are bounded as they are


class SquaredLoss(Loss):
    """(y - F)^2 / 2: the bound on the loss is the loss."""

    curvature = 1.0

    def curvatures(self, scores: np.ndarray) -> np.ndarray:
        return np.ones_like(scores)

    def value(self, scores: np.ndarray) -> float:
        return 0.5 * float(self.pair_weight @ (self.y - scores) ** 2)

    def residual(self, scores: np.ndarray) -> np.ndarray:
        return self.pair_weight * (self.y - scores)

    def aim(
        self, residual: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Residuals times the task's weight, of mean square 1.

        Of all learners with the same mean square, one in the direction of the
        gradient lowers the loss most. (Residuals over the weight would suit these
        weights exactly, and leave nothing to learn for a task of small weight.)
        """
        root = np.sqrt(self.weight)
        pull = self.by_row(residual * weights[self.problem])
        target = np.divide(pull, root, out=np.zeros_like(root), where=root > 0)
        square = float(target @ target)
        if not square > 0:
            return target, np.zeros_like(root)
        return target * np.sqrt(self.weight.sum() / square), root

    def scale(self, output: np.ndarray) -> float:
        square = float(self.weight @ output**2)
        return np.sqrt(self.weight.sum() / square) if square > 0 else 0.0


@dataclass(frozen=True)
class Settings:
    """How rounds are run.

    Attributes
    ----------
    n_inner : int
        Fits in a round, at most.
    inner_tol : float
        Relative change of the weights at which a round's fits have converged.
    step : {"majorized", "exact", "paper"}
        How weights are found.
    penalty : float
        Lambda.
    ridge : float
        Epsilon.
    start : {"gradient", "random"}
        Where a round's weights begin.
    kind : {"sign", "clipped", "number"}
        What outputs are.
    """

    n_inner: int
    inner_tol: float
    step: str
    penalty: float
    ridge: float
    start: str
    kind: str


@dataclass(frozen=True, eq=False)
class Round:
    """What a round found.

    Attributes
    ----------
    kept : object
        What the learner keeps of its fit.
    scale : float
        Outputs are multiplied by it.
    weights : float64 array of shape (n_problems,)
        Weights by problem.
    covariance : TaskCovariance
        After the round.
    loss, objective : float
        After the round.
    progress : float
        ``slope' Omega slope`` over the squared sum of weights: how much there was to
        gain.
    """

    kept: Any
    scale: float
    weights: np.ndarray
    covariance: TaskCovariance
    loss: float
    objective: float
    progress: float


def play_rounds(
    loss: Loss,
    learner: Learner,
    scores: np.ndarray,
    settings: Settings,
    rng: np.random.RandomState,
    covariance: TaskCovariance | None = None,
) -> Iterator[Round]:
    """Run rounds for as long as there is something to learn, and yield them.

    Scores, where they begin, change in place; `covariance` is that after earlier
    rounds, None before the first.
    """
    if covariance is None:
        covariance = TaskCovariance.start(loss.n_problems, settings.ridge)
    while True:
        residual = loss.residual(scores)
        weights = _first_weights(loss, learner, residual, covariance, settings, rng)
        best = None
        for _ in range(settings.n_inner):
            target, root = loss.aim(residual, weights)
            if not root.any():
                break
            raw, kept = learner.fit(target, root)
            scale = loss.scale(raw)
            output = shape_outputs(raw * scale, settings.kind)
            slope, bend = loss.slope(residual, output), loss.bend(output)
            old, weights = (
                weights,
                _find_weights(slope, bend, covariance, weights, settings),
            )
            after = covariance.with_round(weights)
            value = slope @ weights + settings.penalty / 2 * after.penalty
            if settings.step != "paper":
                value += weights @ (bend * weights) / 2
            if best is None or value < best[0] or settings.step == "paper":
                best = value, kept, scale, output, weights, slope, bend
            if loss.n_problems == 1:
                break  # the learner does not depend on its weight
            if np.abs(weights - old).max() <= settings.inner_tol * abs(weights).max():
                break
        if best is None:
            return
        _, kept, scale, output, weights, slope, _ = best
        if settings.step == "exact":
            weights = _to_the_end(loss, scores, output, weights, covariance, settings)
        covariance = covariance.with_round(weights)
        scores += weights[loss.problem] * output[loss.row]
        value = loss.value(scores)
        if not np.isfinite(value):
            return  # the paper's step has diverged
        yield Round(
            kept=kept,
            scale=scale,
            weights=weights,
            covariance=covariance,
            loss=value,
            objective=value + settings.penalty / 2 * covariance.penalty,
            progress=float(slope @ covariance.times(slope)) / loss.weight.sum() ** 2,
        )


def _first_weights(
    loss: Loss,
    learner: Learner,
    residual: np.ndarray,
    covariance: TaskCovariance,
    settings: Settings,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Where a round's weights begin: drawn, then turned along the gradient.

    With a learner that is one step along the gradient, finding weights and learner
    in turn is the power method for the direction in which the bound falls most. It
    spares the fits from a start by chance.
    """
    weights = covariance.draw(rng)
    if settings.start == "random":
        return weights
    if learner.correlate is None:
        # Fits of single problems tell who is opposite to whom, which the covariance
        # knows later; in every round they would double the time for no better model.
        if len(covariance.values):
            return weights
        if loss.n_problems > _MATRIX_PROBLEMS:  # too many fits: all tasks alike
            return np.abs(weights)
    bend = loss.curvature * loss.by_problem(loss.pair_weight)
    if learner.correlate is None:
        slope_of = _fitted_step(loss, learner, residual, settings.kind)
    else:
        slope_of = _gradient_step(loss, learner, residual)
    for _ in range(_POWER_STEPS):
        turned = covariance.shrink(slope_of(weights), bend, settings.penalty)
        length = np.linalg.norm(turned)
        if not length > 0:
            break
        old, weights = weights, turned / length
        if np.abs(weights - old).max() < 1e-3:
            break
    return weights


def _gradient_step(
    loss: Loss, learner: Any, residual: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Slopes of the learner that is one step along the gradient, by its weights.

    They are linear in the weights. With few problems it is cheaper to have the matrix
    once than to go through all rows in each step.
    """
    if loss.n_problems > _MATRIX_PROBLEMS:

        def slope(weights: np.ndarray) -> np.ndarray:
            pull = loss.by_row(residual * weights[loss.problem])
            return loss.slope(residual, learner.correlate(pull))

        return slope
    pulls = np.zeros((len(loss.weight), loss.n_problems))
    pulls[loss.row, loss.problem] = residual
    matrix = pulls.T @ learner.correlate(pulls)
    return lambda weights: -(matrix @ weights)


def _fitted_step(
    loss: Loss, learner: Any, residual: np.ndarray, kind: str
) -> Callable[[np.ndarray], np.ndarray]:
    """The same for learners of any kind: a fit to the gradient of each problem.

    A step along the gradient is the sum of these, by the weights and as far as a
    learner can follow.
    """
    matrix = np.zeros((loss.n_problems, loss.n_problems))
    for problem in range(loss.n_problems):
        alone = np.where(loss.problem == problem, residual, 0.0)
        target, root = loss.aim(alone, np.ones(loss.n_problems))
        if root.any() and target.any():
            raw, _ = learner.fit(target, root)
            output = shape_outputs(raw * loss.scale(raw), kind)
            matrix[problem] = -loss.slope(residual, output) * np.abs(alone).sum()
    return lambda weights: -(weights @ matrix)


def _find_weights(
    slope: np.ndarray,
    bend: np.ndarray,
    covariance: TaskCovariance,
    current: np.ndarray,
    settings: Settings,
) -> np.ndarray:
    """Weights of a learner, with the covariance that they bring about."""
    if settings.step == "paper":
        return -covariance.with_round(current).times(slope) / settings.penalty
    weights = covariance.shrink(slope, bend, settings.penalty)
    return covariance.with_round(weights).shrink(slope, bend, settings.penalty)


def _to_the_end(
    loss: Loss,
    scores: np.ndarray,
    output: np.ndarray,
    weights: np.ndarray,
    covariance: TaskCovariance,
    settings: Settings,
) -> np.ndarray:
    """Weights that minimise the penalised loss with the best covariance for them.

    The loss has a curvature for each problem, so that a Newton step is one more
    `shrink`. Each step is for the covariance of the last one, which bounds the penalty
    from above; it is halved until the objective falls.
    """
    of_pairs = output[loss.row]

    def look(weights: np.ndarray) -> tuple[float, np.ndarray, TaskCovariance]:
        now = scores + weights[loss.problem] * of_pairs
        after = covariance.with_round(weights)
        return loss.value(now) + settings.penalty / 2 * after.penalty, now, after

    value, now, after = look(weights)
    for _ in range(_EXACT_STEPS):
        bend = loss.bend_at(now, output)
        slope = loss.slope(loss.residual(now), output) - bend * weights
        step = after.shrink(slope, bend, settings.penalty) - weights
        for _ in range(_HALVINGS):
            found = look(weights + step)
            if found[0] <= value:
                break
            step = step / 2
        else:  # as low as numbers go
            break
        weights, (value, now, after) = weights + step, found
        if np.abs(step).max() <= _EXACT_TOL * np.abs(weights).max():
            break
    return weights


def find_later_weights(
    loss: Loss,
    scores: np.ndarray,
    outputs: np.ndarray,
    weights: np.ndarray,
    penalty: float,
    ridge: float,
) -> np.ndarray:
    r"""Weights of tasks that come later: the objective of fit, with all else held.

    With the learners' outputs and the weights :math:`W` of the other tasks held, the
    weights :math:`C` of new tasks, whose rows the loss has, minimise

    .. math:: L(C) + \frac\lambda2 \left(\operatorname{tr}
              ([W\,C]^\top [W\,C] + \epsilon^2 I)^{1/2}\right)^2 ,

    which is the objective of the rounds with the best covariance put in. It is convex:
    the trace is the nuclear norm of :math:`[W\,C]` over :math:`\epsilon I`.

    `scores` are those of its pairs before the first learner, `outputs` those of the
    learners by row and round, `weights` those for the problems that are there by round.
    """
    n_rounds, n_old = weights.shape
    shape = n_rounds, loss.n_problems
    if 0 in shape:
        return np.zeros(shape)
    # a turn of the other tasks changes no singular value
    left, values, _ = np.linalg.svd(weights, full_matrices=False)
    held = left * values
    n_held, floor = held.shape[1], ridge * (n_old + loss.n_problems)
    of_pairs = outputs[loss.row]

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        found = flat.reshape(shape)
        now = scores + np.einsum("ij,ij->i", of_pairs, found.T[loss.problem])
        residual = loss.residual(now)
        slope = np.stack([loss.by_problem(residual * column) for column in of_pairs.T])
        U, s, V = np.linalg.svd(np.hstack([held, found]), full_matrices=False)
        root = np.hypot(s, ridge)
        trace = (root - ridge).sum() + floor
        turned = (U * (s / root)) @ V[:, n_held:]
        value = loss.value(now) + penalty / 2 * trace**2
        return value, (penalty * trace * turned - slope).ravel()

    start = np.zeros(n_rounds * loss.n_problems)
    options = {"maxiter": 1000, "maxfun": 2000, "ftol": 1e-13, "gtol": 1e-7}
    options["maxcor"] = 20
    done = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return done.x.reshape(shape)
