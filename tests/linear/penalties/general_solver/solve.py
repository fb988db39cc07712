"""Least objectives of the multi-task penalties by cvxpy: writes figures.json.

The problems are as the page on multi-task penalties states them, for a solver that
knows nothing of them. Only this needs cvxpy; tests read what it wrote.
"""

import json
from pathlib import Path

import cvxpy as cp
import numpy as np

RIDGE, WITHIN, CLUSTERS, PRICE = 0.1, 10.0, 2, 0.7


def make_rows(kind, seed, n_tasks=4, n_features=5):
    """Rows of each task; targets are numbers, or one of some classes."""
    rng = np.random.default_rng(seed)
    base, tasks = rng.normal(size=(3, n_features)), []
    for t in range(n_tasks):
        n = int(rng.integers(14, 26))
        X = (rng.normal(size=(n, n_features)) * [0.5, 1, 2, 1, 1] + 1).round(3)
        W = base * (-1) ** (t % 2) + 0.3 * rng.normal(size=base.shape)
        if kind == "numbers":
            y = (X @ W[0] + t + rng.normal(size=n)).round(3)
        else:
            n_classes = 2 if kind == "two classes" else 3
            noisy = (X - 1) @ W[:n_classes].T + 2 * rng.gumbel(size=(n, n_classes))
            y = np.argmax(noisy, axis=1)
            y[:n_classes] = np.arange(n_classes)
        tasks.append((X, y))
    links = np.triu(rng.integers(0, 3, size=(n_tasks, n_tasks)), 1)
    return tasks, links + links.T


def loss(kind, tasks, W, b, label):
    """Sum of the tasks' mean losses; W has a column for each output."""
    total = 0
    for t, (X, y) in enumerate(tasks):
        if kind == "numbers":
            total += cp.sum_squares(y - X @ W[:, t] - b[t]) / (2 * len(y))
        elif kind == "two classes":
            score = X @ W[:, t] + b[t]
            total += cp.sum(cp.logistic(cp.multiply(1 - 2 * y, score))) / len(y)
        else:
            own = slice(3 * t, 3 * t + 3)
            score = X @ W[:, own] + np.ones((len(y), 1)) @ cp.reshape(
                b[own], (1, 3), order="C"
            )
            right = cp.sum(cp.multiply(np.eye(3)[y], score))
            total += (cp.sum(cp.log_sum_exp(score, axis=1)) - right) / len(y)
    return total


def penalty(name, W, links, label, task):
    """The penalty, and what has to hold for variables of its own."""
    d, n = W.shape
    if name == "l21":
        return cp.sum(cp.norm(W, 2, axis=1)), []
    if name == "shared_sparse":
        shared = cp.Variable((d, n))
        own = cp.sum(cp.abs(W - shared))
        return cp.sum(cp.norm(shared, 2, axis=1)) + PRICE * own, []
    if name == "trace":
        return cp.normNuc(W), []
    if name == "covariance":
        squares = 0.5 * RIDGE * cp.sum_squares(W)
        return 0.5 * cp.square(cp.normNuc(W)) + squares, []
    if name == "graph":
        parts = [0.5 * RIDGE * cp.sum_squares(W)]
        for j in range(n):
            for i in range(j):
                if label[i] == label[j] and links[task[i], task[j]]:
                    weight = 0.5 * links[task[i], task[j]]
                    parts.append(weight * cp.sum_squares(W[:, i] - W[:, j]))
        return sum(parts), []
    # clusters: one mean for each class, and a metric for what departs from it
    member = (label[:, None] == np.unique(label)).astype(float)
    mean = member / member.sum(axis=0) @ member.T
    values, vectors = np.linalg.eigh(np.eye(n) - mean)
    rest = vectors[:, values > 0.5]
    k = rest.shape[1]
    high = min((CLUSTERS - 1) * member.shape[1], k)
    S = cp.Variable((k, k), PSD=True)
    limits = [
        S >> np.eye(k) / WITHIN,
        S << np.eye(k),
        cp.trace(S) == high + (k - high) / WITHIN,
    ]
    cost = cp.matrix_frac((W @ rest).T, S)
    return 0.5 * RIDGE * cp.sum_squares(W @ mean) + 0.5 * cost, limits


def main():
    """Write the problems and their least objectives."""
    out = []
    names = ("l21", "trace", "graph", "clustered", "covariance", "shared_sparse")
    for kind in ("numbers", "two classes", "three classes"):
        for seed in range(2):
            tasks, links = make_rows(kind, seed)
            n_labels = 3 if kind == "three classes" else 1
            label = np.tile(np.arange(n_labels), len(tasks))
            task = np.repeat(np.arange(len(tasks)), n_labels)
            found = {}
            for name in names:
                for alpha in (0.03, 0.2):
                    W = cp.Variable((tasks[0][0].shape[1], len(label)))
                    b = cp.Variable(len(label))
                    value, limits = penalty(name, W, links, label, task)
                    total = loss(kind, tasks, W, b, label) + alpha * value
                    problem = cp.Problem(cp.Minimize(total), limits)
                    problem.solve(solver=cp.CLARABEL)
                    found[f"{name} {alpha}"] = round(float(problem.value), 9)
            rows = [{"X": X.tolist(), "y": y.tolist()} for X, y in tasks]
            out.append(
                {"kind": kind, "tasks": rows, "graph": links.tolist(), "least": found}
            )
    Path(__file__).with_name("figures.json").write_text(json.dumps(out))


if __name__ == "__main__":
    main()
