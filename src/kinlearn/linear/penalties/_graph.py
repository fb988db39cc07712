"""The graph of tasks, as it is given."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.utils._values import show_values

__all__ = ["read_graph"]


def read_graph(graph: Any, tasks: np.ndarray, estimator: str) -> np.ndarray:
    """Weights of the links between tasks, symmetric, with a diagonal of 0.

    Parameters
    ----------
    graph : array-like or sparse matrix of shape (n_tasks, n_tasks), or mapping
        Weights by task code, or of pairs of task values.
    tasks : ndarray of shape (n_tasks,)
        Task values.
    estimator : str
        Name for messages.
    """
    n = len(tasks)
    if graph is None:
        raise ValueError(
            f'penalty="graph" of {estimator} needs graph=: an array of shape ({n}, '
            f"{n}) with the weights of the links between tasks, or a mapping from "
            "pairs of tasks to weights."
        )
    if isinstance(graph, Mapping):
        weights = _of_pairs(graph, tasks)
    else:
        weights = _of_array(graph, tasks)
    if not np.isfinite(weights).all() or (weights < 0).any():
        a, b = np.argwhere(~(np.isfinite(weights) & (weights >= 0)))[0].tolist()
        names = tasks.tolist()
        raise ValueError(
            f"graph gives the link of tasks {names[a]!r} and {names[b]!r} the weight "
            f"{weights[a, b]}; weights must be finite and at least 0."
        )
    return weights - np.diag(np.diag(weights))


def _of_array(graph: Any, tasks: np.ndarray) -> np.ndarray:
    dense = graph.toarray() if sp.issparse(graph) else graph
    weights = np.asarray(dense, dtype=np.float64)
    n, names = len(tasks), tasks.tolist()
    if weights.shape != (n, n):
        raise ValueError(
            f"graph has shape {weights.shape}, but there are {n} tasks "
            f"({show_values(tasks)}): it needs a row and a column for each, in "
            "ascending order."
        )
    differ = np.argwhere(~np.isclose(weights, weights.T, rtol=1e-8, equal_nan=True))
    if len(differ):
        a, b = differ[0].tolist()
        raise ValueError(
            f"graph is not symmetric: tasks {names[a]!r} and {names[b]!r} have "
            f"{weights[a, b]:.6g} one way and {weights[b, a]:.6g} the other. Give "
            "(graph + graph.T) / 2 for their mean."
        )
    return weights


def _of_pairs(graph: Mapping, tasks: np.ndarray) -> np.ndarray:
    code = {name: t for t, name in enumerate(tasks.tolist())}
    weights = np.zeros((len(tasks), len(tasks)))
    for pair, weight in graph.items():
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise TypeError(
                f"graph is a mapping, but {pair!r} is no pair of tasks. Write "
                "{(task, other): weight}."
            )
        for name in pair:
            if name not in code:
                raise ValueError(
                    f"graph links a task {name!r} that is not in the task column, "
                    f"which holds {show_values(tasks)}."
                )
        a, b = code[pair[0]], code[pair[1]]
        back = graph.get(pair[::-1], weight)
        if back is not weight and not np.isclose(weight, back, 1e-8, equal_nan=True):
            raise ValueError(
                f"graph gives the link of tasks {pair[0]!r} and {pair[1]!r} the weight "
                f"{weight:.6g} one way and {back:.6g} the other. Give the pair once."
            )
        weights[a, b] = weights[b, a] = weight
    return weights
