"""The cube of scores: every contender on every task of every fold."""

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["FORMS", "Contender", "Scores"]

FORMS = ("alone", "pooled", "task as feature", "multi-task")


@dataclass(frozen=True)
class Contender:
    """One of the models that are compared.

    - `name`: For tables and sentences; no two contenders have the same.
    - `family`: What is inside, whatever the form: ``"extra trees"``.
    - `form`: How it treats the tasks.
    """

    name: str
    family: str
    form: str

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise ValueError(
                f"Contender {self.name!r} has form {self.form!r}; expected one of "
                f"{', '.join(map(repr, FORMS))}."
            )

    @property
    def shares(self) -> bool:
        """Whether its predictions for a task depend on rows of other tasks."""
        return self.form != "alone"


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of all contenders on the same folds.

    A score is always "greater is better": errors come negated. NaN is a score
    that does not exist: the task has no test row in this fold or only one
    class, or the contender failed.

    - `contenders`: What was compared.
    - `tasks` (n_tasks,): Values of the task column.
    - `n_rows` (n_tasks,): Rows of each task, training and test together.
    - `values` (n_contenders, n_repeats, n_splits, n_tasks): Score of the contender on
      the task's test rows of the fold.
    - `micro` (n_contenders, n_repeats, n_splits): Score on all test rows of the fold
      together.
    - `n_train`, `n_test` (n_repeats, n_splits, n_tasks): Rows of the task in training
      and in test.
    - `n_units` (n_tasks,): Rows that carry the score: of a classifier, those outside
      the task's most common class (an AUC with five positive rows rests on five rows).
      None is all rows, as in regression.
    - `width`: Greatest possible difference of two scores: 1 for an AUC.
    """

    contenders: tuple[Contender, ...]
    tasks: np.ndarray
    n_rows: np.ndarray
    values: np.ndarray
    micro: np.ndarray
    n_train: np.ndarray
    n_test: np.ndarray
    n_units: np.ndarray | None = None
    width: float = np.inf

    def __post_init__(self) -> None:
        names = [contender.name for contender in self.contenders]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"More than one contender is named {twice[0]!r}.")
        object.__setattr__(self, "contenders", tuple(self.contenders))
        object.__setattr__(self, "tasks", np.asarray(self.tasks))
        shape = (len(names), *np.shape(self.n_train)[:2], len(self.tasks))
        self._check("n_rows", np.int64, shape[3:])
        if self.n_units is None:
            object.__setattr__(self, "n_units", self.n_rows)
        self._check("n_units", np.int64, shape[3:])
        self._check("n_train", np.int64, shape[1:])
        self._check("n_test", np.int64, shape[1:])
        self._check("values", np.float64, shape)
        self._check("micro", np.float64, shape[:3])

    def _check(self, name: str, dtype: type, shape: tuple[int, ...]) -> None:
        array: np.ndarray = np.array(getattr(self, name), dtype=dtype)
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}; expected {shape}.")
        if dtype is np.float64 and np.isinf(array).any():
            worst = self.contenders[int(np.argwhere(np.isinf(array))[0, 0])].name
            raise ValueError(
                f"Contender {worst!r} has an infinite score in {name}; means need "
                "finite ones. Choose another metric, or give NaN where it fails."
            )
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    @property
    def names(self) -> list[str]:
        """Names of the contenders."""
        return [contender.name for contender in self.contenders]

    @property
    def counts(self) -> tuple[np.ndarray, np.ndarray, Any]:
        """`n_train`, `n_test` and `n_units`: what standard errors need."""
        return self.n_train, self.n_test, self.n_units

    def index(self, name: str) -> int:
        """Position of a contender."""
        if name not in self.names:
            raise ValueError(
                f"No contender is named {name!r}; there are: {', '.join(self.names)}."
            )
        return self.names.index(name)
