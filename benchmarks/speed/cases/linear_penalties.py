"""Multi-task penalties: a path of joint features against proximal gradient steps."""

import numpy as np

from benchmarks.speed.case import Limit, Work, case, cpu_timed

NEEDS = ("kinlearn.linear",)
TOL = 1e-5


def _tasks(n_tasks=100, n=200, d=500):
    """Correlated features of which twenty matter, to every task in its own way."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_tasks, n, d)) + 0.5 * rng.normal(size=(n_tasks, n, 1))
    W = rng.normal(size=(n_tasks, d)) * (np.arange(d) < 20)
    y = np.einsum("tij,tj->ti", X, W) + 2 * rng.normal(size=(n_tasks, n))
    return X - X.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)


def _fista_path(X, y, alphas):
    """Accelerated steps with restarts and warm starts, in NumPy, to the same gap."""
    n = X.shape[1]
    v = np.random.default_rng(0).normal(size=(len(X), X.shape[2], 1))
    for _ in range(30):
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        v = ((X @ v).transpose(0, 2, 1) @ X).transpose(0, 2, 1) / n
    bound = 1.05 * np.linalg.norm(v, axis=1).max()
    null = 0.5 * (y**2).sum() / n

    def slopes(W):
        rest = y - (X @ W[:, :, None])[:, :, 0]
        return rest, (rest[:, None] @ X)[:, 0] / n

    W = np.zeros((len(X), X.shape[2]))
    found = []
    for alpha in alphas:
        here, momentum, step = W, 1.0, 0
        while True:
            if step % 10 == 0:
                rest, G = slopes(W)
                dual = min(1.0, alpha / np.sqrt((G**2).sum(axis=0)).max()) * rest
                gap = 0.5 * (rest**2).sum() - (dual * y - 0.5 * dual**2).sum()
                gap = gap / n + alpha * np.sqrt((W**2).sum(axis=0)).sum()
                if gap <= TOL * null:
                    break
            V = here + slopes(here)[1] / bound
            length = np.maximum(np.sqrt((V**2).sum(axis=0)), 1e-300)
            new = V * np.maximum(1 - alpha / bound / length, 0)
            momentum = 1.0 if np.vdot(here - new, new - W) > 0 else momentum
            after = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            here = new + (momentum - 1) / after * (new - W)
            W, momentum, step = new, after, step + 1
        found.append(W)
    return found


def _path_to(least):
    """50 penalties, from the largest to a fraction of it."""
    from kinlearn.linear import MultiTaskLinearRegressor

    X, y = _tasks()
    n_tasks, n, d = X.shape
    slopes = np.einsum("tij,ti->tj", X, y) / n
    largest = np.sqrt((slopes**2).sum(axis=0)).max()
    alphas = largest * np.geomspace(1, least, 50)
    rows = np.column_stack([X.reshape(-1, d), np.repeat(np.arange(n_tasks), n)])
    model = MultiTaskLinearRegressor(
        "l21", task=-1, alphas=alphas, scale=False, tol=TOL
    )
    return Work(
        ours=cpu_timed(lambda: model.coefficient_path(rows, y.ravel())),
        peers={"NumPy FISTA": cpu_timed(lambda: _fista_path(X, y, alphas))},
    )


@case("penalties-l21-path", limit=Limit(times_faster=5), needs=NEEDS, repeats=1)
def joint_features():
    """50 penalties of joint features down to a twentieth, 100 tasks x 200 x 500."""
    return _path_to(0.05)


@case("penalties-l21-long-path", limit=Limit(times_faster=5), needs=NEEDS, repeats=1)
def joint_features_of_small_penalties():
    """50 penalties of joint features down to a hundredth, 100 tasks x 200 x 500."""
    return _path_to(0.01)
