r"""Weights of tasks that come later: the objective of fit, with all else held.

With the learners' outputs and the weights :math:`W` of the other tasks held, the
weights :math:`C` of new tasks minimise

.. math:: L(C) + \frac\lambda2 \left(\operatorname{tr}
          ([W\,C]^\top [W\,C] + \epsilon^2 I)^{1/2}\right)^2 ,

which is the objective of the rounds with the best covariance put in. It is convex: the
trace is the nuclear norm of :math:`[W\,C]` over :math:`\epsilon I`.
"""

import numpy as np
from scipy.optimize import minimize

from kinlearn.boosting.mtboost._rounds import LogisticLoss, SquaredLoss

__all__ = ["find_later_weights"]


def find_later_weights(
    loss: LogisticLoss | SquaredLoss,
    scores: np.ndarray,
    outputs: np.ndarray,
    weights: np.ndarray,
    penalty: float,
    ridge: float,
) -> np.ndarray:
    """Weights of the learners for new codes.

    Parameters
    ----------
    loss : LogisticLoss or SquaredLoss
        Rows of the new tasks, with their codes.
    scores : float64 array of shape (n_pairs,)
        Scores before the first learner.
    outputs : float64 array of shape (n_rows, n_rounds)
        Outputs of the learners.
    weights : float64 array of shape (n_rounds, n_codes)
        Weights for the codes that are there.
    penalty, ridge : float
        Lambda and epsilon.

    Returns
    -------
    float64 array of shape (n_rounds, loss.n_codes)
        The minimiser.
    """
    n_rounds, n_old = weights.shape
    shape = n_rounds, loss.n_codes
    if 0 in shape:
        return np.zeros(shape)
    # a turn of the other tasks changes no singular value
    left, values, _ = np.linalg.svd(weights, full_matrices=False)
    held = left * values
    n_held, floor = held.shape[1], ridge * (n_old + loss.n_codes)
    of_pairs = outputs[loss.row]

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        found = flat.reshape(shape)
        now = scores + np.einsum("ij,ij->i", of_pairs, found.T[loss.code])
        residual = loss.residual(now)
        slope = np.stack([loss.by_code(residual * column) for column in of_pairs.T])
        U, s, V = np.linalg.svd(np.hstack([held, found]), full_matrices=False)
        root = np.hypot(s, ridge)
        trace = (root - ridge).sum() + floor
        turned = (U * (s / root)) @ V[:, n_held:]
        value = loss.value(now) + penalty / 2 * trace**2
        return value, (penalty * trace * turned - slope).ravel()

    start = np.zeros(n_rounds * loss.n_codes)
    options = {"maxiter": 1000, "maxfun": 2000, "ftol": 1e-13, "gtol": 1e-7}
    options["maxcor"] = 20
    done = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return done.x.reshape(shape)
