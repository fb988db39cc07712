"""What a forest tells of its features, and of the relations of its tasks."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kinlearn.tasks import TaskMixin
from kinlearn.trees.extra._model import Forest
from kinlearn.utils._typing import ArrayLike

__all__ = ["ForestImportances"]

_MOST_TASKS = 1_000  # of a matrix of affinities


class ForestImportances(TaskMixin):
    """Importances and affinities of a fitted forest."""

    forest_: Forest
    _variance_of_base: np.ndarray

    @property
    def feature_importances_(self) -> np.ndarray:
        """Fraction of the impurity decrease by column of X; they sum to 1.

        The entry of the task column is what task splits account for.
        """
        *features, of_task = self._importances()
        return self._by_column(features, of_task)

    @property
    def task_importance_(self) -> float:
        """Fraction of the impurity decrease that task splits account for."""
        return float(self._importances()[-1])

    @property
    def task_affinity_(self) -> np.ndarray:
        """How often task splits keep two tasks on the same side.

        A split counts by the impurity decrease that it brings, as a fraction of its
        tree's. Computed on access, of shape (n_tasks, n_tasks), in the order of
        ``tasks_``. Task splits go by the tasks' means, so it separates tasks of
        another level best, and tasks that differ in slope less clearly. Offsets
        (``task_offsets_`` of the regressor) take the levels off first, so then it
        shows only what remains. With more than 1,000 tasks it is not available; see
        `nearest_tasks`.
        """
        check_is_fitted(self)
        if len(self.tasks_) > _MOST_TASKS:
            raise AttributeError(
                f"task_affinity_ of {len(self.tasks_)} tasks is a large matrix; call "
                "nearest_tasks(task) for the tasks that are close to one."
            )
        return self.forest_.affinity(np.arange(len(self.tasks_)), len(self.tasks_))

    def nearest_tasks(self, task: Any, n: int = 5) -> dict[Any, float]:
        """The tasks that task splits keep together with one most often.

        Parameters
        ----------
        task : task value
            One of ``tasks_``.
        n : int, default=5
            How many to list.

        Returns
        -------
        dict
            Task: affinity, as in ``task_affinity_``, the closest first.
        """
        check_is_fitted(self)
        names = self.tasks_.tolist()
        if task not in names:
            raise ValueError(
                f"Task {task!r} was not in fit, which saw {len(names)} tasks."
            )
        own = names.index(task)
        affinity = self.forest_.affinity(np.array([own]), len(names))[0]
        closest = np.argsort(-affinity, kind="stable")
        return {
            names[t]: float(affinity[t]) for t in closest[closest != own][: max(n, 0)]
        }

    def _importances(self) -> np.ndarray:
        check_is_fitted(self)
        fraction = self.forest_.importances(len(self.feature_names_))
        base = self._variance_of_base
        if not base.any():
            return fraction
        decrease = fraction * self.forest_.mean_decrease() + base
        return decrease / decrease.sum()

    def _by_column(
        self, of_features: ArrayLike | None, of_task: float = 0.0
    ) -> np.ndarray:
        """Values of features and task in the order of the columns of X."""
        out = np.zeros(self.n_features_in_)
        columns = np.asarray(self._columns.features)
        if self.table_encoder_ is not None:
            columns = columns[self.table_encoder_.origin_]
        if of_features is not None:
            np.add.at(out, columns, of_features)  # parts of a date are one column
        if self._columns.task is not None:
            out[self._columns.task] = of_task
        return out
