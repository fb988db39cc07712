"""Trees and forests that share between tasks."""

from kinlearn.trees._extra_trees import (
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
)

__all__ = ["MultiTaskExtraTreesClassifier", "MultiTaskExtraTreesRegressor"]
