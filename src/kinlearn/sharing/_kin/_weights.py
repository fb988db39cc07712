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
evidence (marginal likelihood) is approximated by Laplace's method. The shares
:math:`\pi` of the scales are learned from all tasks by EM, and a task's weights are
the mean of :math:`\hat w_t(\tau)` over the scales' posterior.

So a task of few rows, whose evidence is next to flat, stays with the crowd, a
task of many rows goes its own way, and how readily is learned: a mixture of scales
has heavy tails, so that most tasks may keep close and a few depart far.
"""

from dataclasses import dataclass

import numpy as np

from kinlearn.sharing._kin._losses import LogLoss, SquaredLoss
from kinlearn.sharing._kin._simplex import minimise_on_simplex

__all__ = ["SCALES", "TaskWeights", "crowd_weights", "task_weights"]

# Standard deviations of a weight around its centre; 0 is the centre itself.
SCALES = (0.0, 0.03, 0.1, 0.3, 1.0)
_MOST_STEPS = 50
_SMALL_STEP = 1e-9
_HALVINGS = 20
_ROUNDS_OF_EM = 200
_TASKS_OF_PRIOR = 1.0  # equal shares of the scales count like so many tasks


@dataclass(frozen=True, eq=False)
class TaskWeights:
    """Weights of the candidates for each task, and how they were found.

    Attributes
    ----------
    by_task : float64 array of shape (n_tasks, n_candidates)
        Convex weights.
    scale_shares : float64 array of shape (n_scales,)
        How common each of ``SCALES`` is among the tasks.
    posterior : float64 array of shape (n_tasks, n_scales)
        Probability of each scale, by task.
    """

    by_task: np.ndarray
    scale_shares: np.ndarray
    posterior: np.ndarray


def crowd_weights(loss: LogLoss | SquaredLoss) -> np.ndarray:
    """Weights that are best overall, drawn towards equal ones.

    Parameters
    ----------
    loss : LogLoss or SquaredLoss
        With a single group.

    Returns
    -------
    float64 array of shape (n_candidates,)
        Convex weights.
    """
    k = loss.n_candidates
    path, evidence = _modes(loss, np.full(k, 1.0 / k), 1)
    return _averaged(path, _shares(evidence))[0]


def task_weights(
    loss: LogLoss | SquaredLoss, centre: np.ndarray, n_tasks: int
) -> TaskWeights:
    """Weights of each task, drawn towards a centre as far as all tasks support it.

    Parameters
    ----------
    loss : LogLoss or SquaredLoss
        With a group for each task; groups may be empty.
    centre : float64 array of shape (n_candidates,)
        The crowd's weights.
    n_tasks : int
        Number of tasks.

    Returns
    -------
    TaskWeights
        The weights.
    """
    path, evidence = _modes(loss, centre, n_tasks)
    prior = np.full(len(SCALES), 1.0 / len(SCALES))
    start = _TASKS_OF_PRIOR * prior  # so that few tasks rule no scale out
    for _ in range(_ROUNDS_OF_EM):
        counts = start + _shares(evidence, prior).sum(axis=0)
        new = counts / counts.sum()
        if np.abs(new - prior).max() < 1e-10:
            break
        prior = new
    posterior = _shares(evidence, prior)
    return TaskWeights(_averaged(path, posterior), prior, posterior)


def _shares(evidence: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
    """Posterior of the scales from their log evidence, one row per group."""
    log = evidence if prior is None else evidence + np.log(prior)
    share = np.exp(log - log.max(axis=1, keepdims=True))
    return share / share.sum(axis=1, keepdims=True)


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
