"""Estimators of kinlearn, with their default settings."""

from benchmarks.quality.protocol import Contender

__all__ = ["EXTRA_TREES", "GRADIENT_BOOSTING", "KIN"]


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


def gradient_boosting(problem, seed):
    """Multi-task gradient boosting; nothing is set but the task and the seed."""
    from kinlearn.boosting import (
        MultiTaskGradientBoostingClassifier,
        MultiTaskGradientBoostingRegressor,
    )

    if problem.kind == "classification":
        return MultiTaskGradientBoostingClassifier(task=-1, random_state=seed)
    return MultiTaskGradientBoostingRegressor(task=-1, random_state=seed)


GRADIENT_BOOSTING = Contender(
    "kinlearn gradient boosting (defaults)", gradient_boosting, kind="ours"
)


def kin(problem, seed):
    """The Kin estimators; nothing is set but the task and the seed.

    Tasks are never new here, so nothing is learned about unseen ones.
    """
    from kinlearn import KinClassifier, KinRegressor

    estimator = KinClassifier if problem.kind == "classification" else KinRegressor
    return estimator(task=-1, unknown_task="error", random_state=seed)


KIN = Contender("kinlearn Kin (defaults)", kin, kind="ours")
