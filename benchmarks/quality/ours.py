"""Estimators of kinlearn, with their default settings."""

from benchmarks.quality.protocol import Contender

__all__ = ["EXTRA_TREES"]


def extra_trees(problem, seed):
    """Multi-task extra trees; nothing is set but the task and the seed."""
    from kinlearn.trees import (
        MultiTaskExtraTreesClassifier,
        MultiTaskExtraTreesRegressor,
    )

    if problem.kind == "classification":
        return MultiTaskExtraTreesClassifier(task=-1, random_state=seed)
    return MultiTaskExtraTreesRegressor(task=-1, random_state=seed)


EXTRA_TREES = Contender("kinlearn extra trees (defaults)", extra_trees, kind="ours")
