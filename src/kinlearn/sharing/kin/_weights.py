r"""Weights of the candidates by task: hierarchical stacking by empirical Bayes.

The model. Task t combines the candidates with convex weights :math:`w_t`, drawn
around the crowd's weights :math:`w_0`, which are drawn around equal weights:

.. math::

    w_0 \sim N(\mathbf 1 / K, \tau_0^2 I), \qquad
    w_t \mid \tau_t \sim N(w_0, \tau_t^2 I), \qquad
    \tau_t \sim \pi \text{ on a grid},

all kept to the simplex. The likelihood of a row is that of its prediction out of
fold: normal for numbers, the probability of the true class for classes. For each
scale of the grid the mode :math:`\hat w_t(\tau)` is a convex program; its
evidence (marginal likelihood) is approximated by Laplace's method. The fractions
:math:`\pi` of the scales are learned from all tasks by EM, and a task's weights are
the mean of :math:`\hat w_t(\tau)` over the scales' posterior.

So a task of few rows, whose evidence is next to flat, stays with the crowd, a
task of many rows goes its own way, and how readily is learned: a mixture of scales
has heavy tails, so that most tasks may keep close and a few depart far.
"""

from dataclasses import dataclass

import numpy as np

from kinlearn.utils import group_rows

__all__ = [
    "SCALES",
    "LogLoss",
    "SquaredLoss",
    "TaskWeights",
    "crowd_weights",
    "evidence_of_rows",
    "minimise_on_simplex",
    "task_weights",
    "without_traces",
]

# Standard deviations of a weight around its centre; 0 is the centre itself.
SCALES = (0.0, 0.03, 0.1, 0.3, 1.0)
_MOST_STEPS = 50
_SMALL_STEP = 1e-9
_ROWS_AT_ONCE = 65_536
_HALVINGS = 20
_ROUNDS_OF_EM = 200
_TASKS_OF_PRIOR = 1.0  # equal fractions of the scales count like so many tasks
_RARE_ROWS = 2.0  # of the rarer classes of a task, at which its evidence counts half
_LEAST_WEIGHT = 0.01  # less is not worth a candidate's time in prediction
# A candidate with less in the mean of the tasks must have this much somewhere: it
# would fill most of a model's file, to count a little for a task or two.
_LEAST_SOMEWHERE = 0.2
_TOLERANCE = 1e-12  # of multipliers, as a fraction of the largest number of the problem


class SquaredLoss:
    r"""Half the squared error over the variance, summed by group.

    .. math:: L_t(w) = \frac{1}{2 \sigma_t^2} \sum_{i \in t} s_i (w^\top r_i)^2

    Weights sum to 1, so this is the error of the combination, computed from the
    candidates' errors: numbers far from 0 cost no digits.

    Parameters
    ----------
    errors : float64 array of shape (n_samples, n_candidates)
        Targets less predictions out of fold.
    weight : float64 array of shape (n_samples,)
        Weights of the rows.
    group : int array of shape (n_samples,)
        Group of each row.
    variance : float64 array of shape (n_groups,)
        Of the rows' noise, by group.
    """

    def __init__(
        self,
        errors: np.ndarray,
        weight: np.ndarray,
        group: np.ndarray,
        variance: np.ndarray,
    ) -> None:
        n = len(variance)
        indptr, order = group_rows(group, n)
        self.n_candidates = k = errors.shape[1]
        self._matrix = np.zeros((n, k, k))
        for t in np.flatnonzero(np.diff(indptr)):
            for first in range(indptr[t], indptr[t + 1], _ROWS_AT_ONCE):
                rows = order[first : min(first + _ROWS_AT_ONCE, indptr[t + 1])]
                part = errors[rows]
                self._matrix[t] += part.T @ (weight[rows, None] * part) / variance[t]

    def value(self, w: np.ndarray) -> np.ndarray:
        """The loss of each group, by weights of shape (n_groups, n_candidates)."""
        return np.einsum("ti,tij,tj->t", w, self._matrix, w) / 2

    def expand(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and second derivatives of each group's loss."""
        return np.einsum("tij,tj->ti", self._matrix, w), self._matrix


class LogLoss:
    r"""Minus the log of the probability of the true class, summed by group.

    .. math:: L_t(w) = -\sum_{i \in t} s_i \log(w^\top p_i)

    Parameters
    ----------
    proba : float64 array of shape (n_samples, n_candidates)
        Probability of the true class, out of fold; positive.
    weight : float64 array of shape (n_samples,)
        Weights of the rows.
    group : int array of shape (n_samples,)
        Group of each row.
    n_groups : int
        Number of groups; some may be empty.
    """

    def __init__(
        self, proba: np.ndarray, weight: np.ndarray, group: np.ndarray, n_groups: int
    ) -> None:
        indptr, order = group_rows(group, n_groups)
        self.n_candidates = proba.shape[1]
        self._proba = proba[order]
        self._weight = weight[order]
        self._group = np.asarray(group)[order]
        self._parts = [slice(indptr[t], indptr[t + 1]) for t in range(n_groups)]

    def _mixed(self, w: np.ndarray) -> np.ndarray:
        if len(w) == 1:
            return self._proba @ w[0]
        return np.einsum("ij,ij->i", self._proba, w[self._group])

    def value(self, w: np.ndarray) -> np.ndarray:
        """The loss of each group, by weights of shape (n_groups, n_candidates)."""
        cost = -self._weight * np.log(self._mixed(w))
        return np.bincount(self._group, weights=cost, minlength=len(w))

    def expand(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and second derivatives of each group's loss."""
        ratio = self._proba / self._mixed(w)[:, None]
        weighted = self._weight[:, None] * ratio
        k = w.shape[1]
        gradient, curvature = np.zeros((len(w), k)), np.zeros((len(w), k, k))
        for t, part in enumerate(self._parts):
            gradient[t] = -weighted[part].sum(axis=0)
            curvature[t] = ratio[part].T @ weighted[part]
        return gradient, curvature


@dataclass(frozen=True, eq=False)
class TaskWeights:
    """Weights of the candidates for each task, and how they were found.

    Attributes
    ----------
    by_task : float64 array of shape (n_tasks, n_candidates)
        Convex weights.
    scale_fractions : float64 array of shape (n_scales,)
        How common each of ``SCALES`` is among the tasks.
    posterior : float64 array of shape (n_tasks, n_scales)
        Probability of each scale, by task.
    """

    by_task: np.ndarray
    scale_fractions: np.ndarray
    posterior: np.ndarray


def crowd_weights(loss: LogLoss | SquaredLoss) -> np.ndarray:
    """Weights that are best overall, drawn to equal ones; `loss` has one group."""
    k = loss.n_candidates
    path, evidence = _modes(loss, np.full(k, 1.0 / k), 1)
    return _averaged(path, _posterior(evidence))[0]


def evidence_of_rows(
    y: np.ndarray, weight: np.ndarray, task: np.ndarray, n_tasks: int
) -> np.ndarray:
    """What part of a task's rows counts for its own weights, by their classes.

    Candidates that follow a task's level look worse out of fold than they are: where a
    row of a rare class is held out, they have learned a lower rate of that class than
    where it trains. With r rows that are not of the task's largest class, this is an
    error of about one in r, whatever the number of all rows; such a task counts r / (r
    + 2) of them. On a twentieth of landmine, with less than two such rows a field,
    weights by task lowered the log loss by 1 % out of fold, and not at all on new rows.
    """
    pairs, cell = np.unique(np.stack([task, y]), axis=1, return_inverse=True)
    rows = np.bincount(cell.ravel(), weights=weight)
    total = np.bincount(pairs[0], weights=rows, minlength=n_tasks)
    largest = np.zeros(n_tasks)
    np.maximum.at(largest, pairs[0], rows)
    rare = total - largest
    return rare / (rare + _RARE_ROWS)


def task_weights(
    loss: LogLoss | SquaredLoss, centre: np.ndarray, n_tasks: int
) -> TaskWeights:
    """Weights of each task, drawn towards a centre as far as all tasks support it.

    `loss` has a group for each task, which may be empty.
    """
    path, evidence = _modes(loss, centre, n_tasks)
    prior = np.full(len(SCALES), 1.0 / len(SCALES))
    start = _TASKS_OF_PRIOR * prior  # so that few tasks rule no scale out
    for _ in range(_ROUNDS_OF_EM):
        counts = start + _posterior(evidence, prior).sum(axis=0)
        new = counts / counts.sum()
        if np.abs(new - prior).max() < 1e-10:
            break
        prior = new
    posterior = _posterior(evidence, prior)
    return TaskWeights(_averaged(path, posterior), prior, posterior)


def _posterior(evidence: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
    """Posterior of the scales from their log evidence, one row per group."""
    log = evidence if prior is None else evidence + np.log(prior)
    out = np.exp(log - log.max(axis=1, keepdims=True))
    return out / out.sum(axis=1, keepdims=True)


def _averaged(path: np.ndarray, posterior: np.ndarray) -> np.ndarray:
    w = np.einsum("gtk,tg->tk", path, posterior)
    return w / w.sum(axis=1, keepdims=True)


def _modes(
    loss: LogLoss | SquaredLoss, centre: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mode and log evidence of every group's weights for every scale."""
    k = len(centre)
    around = np.tile(centre, (n_groups, 1))
    path = np.empty((len(SCALES), n_groups, k))
    evidence = np.empty((n_groups, len(SCALES)))
    w = around
    for g, scale in enumerate(SCALES):
        if scale == 0:
            path[g], evidence[:, g] = around, -loss.value(around)
            continue
        precision = scale**-2.0
        w = _minimise(loss, around, precision, w)
        off = ((w - around) ** 2).sum(axis=1)
        # curvature along the directions in which weights can be traded
        curvature = _traded(loss.expand(w)[1])
        bits = np.log1p(np.linalg.eigvalsh(curvature).clip(0) / precision)
        path[g] = w
        evidence[:, g] = -loss.value(w) - precision * off / 2 - bits.sum(axis=1) / 2
    return path, evidence


def _traded(curvature: np.ndarray) -> np.ndarray:
    """The matrices restricted to directions that keep the sum of the weights."""
    k = curvature.shape[-1]
    centring = np.eye(k) - 1.0 / k
    return centring @ curvature @ centring


def _minimise(
    loss: LogLoss | SquaredLoss, centre: np.ndarray, precision: float, w: np.ndarray
) -> np.ndarray:
    """Newton's method: a quadratic program over the simplex for each step."""
    eye = precision * np.eye(centre.shape[1])

    def objective(v: np.ndarray) -> np.ndarray:
        return loss.value(v) + precision * ((v - centre) ** 2).sum(axis=1) / 2

    now = objective(w)
    for _ in range(_MOST_STEPS):
        gradient, curvature = loss.expand(w)
        pull = np.einsum("tij,tj->ti", curvature, w) - gradient + precision * centre
        direction = minimise_on_simplex(curvature + eye, pull, w) - w
        slope = ((gradient + precision * (w - centre)) * direction).sum(axis=1)
        step = np.ones(len(w))
        for _ in range(_HALVINGS):
            after = objective(w + step[:, None] * direction)
            # rounding may hide the last gains
            short = after > now + 1e-4 * step * slope + 1e-12 * np.abs(now)
            if not short.any():
                break
            step = np.where(short, step / 2, step)
        else:
            step = np.where(short, 0.0, step)
        w = w + step[:, None] * direction
        now = objective(w)
        if np.abs(step[:, None] * direction).max() < _SMALL_STEP:
            break
    return w


def minimise_on_simplex(
    quadratic: np.ndarray, linear: np.ndarray, start: np.ndarray
) -> np.ndarray:
    r"""Minimise :math:`\frac12 w^\top B w - c^\top w` over convex combinations.

    A primal active-set method. All problems take their steps at the same time, so
    thousands of tasks cost little more than one. `quadratic` are the matrices B,
    positive
    definite, `linear` the vectors c; the solution does not depend on `start`.
    """
    w = np.array(start, dtype=np.float64)
    free = np.ones(w.shape, dtype=bool)
    open_ = np.arange(len(w))
    size = np.abs(quadratic).max(axis=(1, 2)) + np.abs(linear).max(axis=1)
    for _ in range(20 * w.shape[1]):
        if not len(open_):
            break
        B, c, mask = quadratic[open_], linear[open_], free[open_]
        target, level = _on_free_weights(B, c, mask)
        here = w[open_]
        # as far towards the target as no weight becomes negative
        falls = mask & (target < 0)
        ratio = np.where(falls, here, np.inf) / np.where(falls, here - target, 1.0)
        blocking = ratio.argmin(axis=1)
        rows = np.arange(len(open_))
        blocked = ratio[rows, blocking] < 1
        step = np.where(blocked, ratio[rows, blocking], 1.0)[:, None]
        here = here + step * (target - here)
        here[rows[blocked], blocking[blocked]] = 0.0
        w[open_] = here
        free[open_[blocked], blocking[blocked]] = False
        # at the target: free the weight that gains most, or be done
        gain = np.einsum("tij,tj->ti", B, here) - c + level[:, None]
        gain = np.where(mask, 0.0, gain)
        best = gain.argmin(axis=1)
        wants = ~blocked & (gain[rows, best] < -_TOLERANCE * size[open_])
        free[open_[wants], best[wants]] = True
        open_ = open_[blocked | wants]
    w = np.maximum(w, 0.0)
    return w / w.sum(axis=1, keepdims=True)


def _on_free_weights(
    B: np.ndarray, c: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Minima where the other weights are zero, and the multipliers of the sum."""
    n = B.shape[1]
    kkt = np.zeros((len(B), n + 1, n + 1))
    kkt[:, :n, :n] = B * (free[:, :, None] & free[:, None, :])
    kkt[:, range(n), range(n)] += ~free
    kkt[:, :n, n] = kkt[:, n, :n] = free
    right = np.concatenate([c * free, np.ones((len(B), 1))], axis=1)
    solution = np.linalg.solve(kkt, right[..., None])[..., 0]
    return solution[:, :n], solution[:, n]


def without_traces(weights: np.ndarray) -> np.ndarray:
    """Weights without those next to nothing: of a task, or of a candidate in all."""
    weights = np.where(weights < _LEAST_WEIGHT, 0.0, weights)
    faint = weights.mean(axis=0) < _LEAST_WEIGHT
    faint &= weights.max(axis=0) < _LEAST_SOMEWHERE
    if (weights[:, ~faint].sum(axis=1) > 0.5).all():
        weights[:, faint] = 0.0
    return weights / weights.sum(axis=1, keepdims=True)
