"""What the distances come back as: a labelled square matrix."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from kinlearn.utils import import_optional

__all__ = ["TaskDistances"]

_SHOWN_TASKS = 8
# scipy's optimal order takes 0.5 s for 1,000 tasks and grows with the cube
_OPTIMAL_ORDER_TASKS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class TaskDistances:
    """Distances between tasks: a symmetric matrix that knows its tasks.

    Parameters
    ----------
    values : array-like of shape (n_tasks, n_tasks)
        Symmetric, non-negative and finite, with zeros on the diagonal. A
        read-only copy is kept.
    tasks : array-like of shape (n_tasks,)
        The tasks' names, all different.
    method : str
        What was measured.

    See Also
    --------
    task_distances : Measure them.

    Examples
    --------
    >>> from kinlearn.relatedness import TaskDistances
    >>> values = [[0.0, 0.1, 0.7], [0.1, 0.0, 0.4], [0.7, 0.4, 0.0]]
    >>> distances = TaskDistances(values, ["a", "b", "c"], method="ks")
    >>> distances
    TaskDistances(method='ks', n_tasks=3)
             a    b    c
        a    0  0.1  0.7
        b  0.1    0  0.4
        c  0.7  0.4    0
    >>> distances["a", "c"]
    0.7
    >>> distances.nearest("c").tolist()
    ['b', 'a']
    """

    values: np.ndarray
    tasks: np.ndarray
    method: str
    _place: dict = field(init=False)

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        tasks = np.array(self.tasks)
        if tasks.dtype.kind in "UT":
            tasks = tasks.astype(object)
        if tasks.ndim != 1 or not tasks.size or values.shape != (tasks.size,) * 2:
            raise ValueError(
                "values must be a square matrix with a row for each task; got shape "
                f"{values.shape} and tasks of shape {tasks.shape}."
            )
        if not np.isfinite(values).all() or (values < 0).any():
            raise ValueError(
                "Distances must be finite and not negative; values holds "
                f"{np.isnan(values).sum()} NaN, {np.isinf(values).sum()} infinite and "
                f"{(values < 0).sum()} negative entries."
            )
        if values.diagonal().any() or not np.allclose(values, values.T, atol=0):
            raise ValueError(
                "values must be symmetric with zeros on its diagonal. For an "
                "affinity A, pass a distance such as A.max() - A."
            )
        place = {task: t for t, task in enumerate(tasks.tolist())}
        if len(place) < len(tasks):
            raise ValueError("Task names must all be different.")
        values.flags.writeable = False
        tasks.flags.writeable = False
        for name, value in (("values", values), ("tasks", tasks), ("_place", place)):
            object.__setattr__(self, name, value)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.tasks)

    def _code(self, task: Any) -> int:
        try:
            return self._place[task]
        except (KeyError, TypeError):
            known = ", ".join(map(repr, list(self._place)[:5]))
            more = ", ..." if self.n_tasks > 5 else ""
            raise KeyError(
                f"No task {task!r} here; the tasks are {known}{more}"
            ) from None

    def __getitem__(self, pair: tuple[Any, Any]) -> float:
        """Distance between two tasks, named in any order."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                f"Name two tasks, as in distances['a', 'b']; got {pair!r}. The whole "
                "matrix is distances.values."
            )
        return float(self.values[self._code(pair[0]), self._code(pair[1])])

    def nearest(self, task: Any, n: int | None = None) -> np.ndarray:
        """The other tasks, nearest first.

        Parameters
        ----------
        task : str or int
            A task's name.
        n : int, default=None
            How many to name at the most; None names all.

        Returns
        -------
        ndarray
            Task names; equally near ones stand in the order of `tasks`.
        """
        code = self._code(task)
        order = np.argsort(self.values[code], kind="stable")
        return self.tasks[order[order != code][:n]]

    def order(self) -> np.ndarray:
        """Order of the tasks in which similar ones are neighbours.

        The leaves of an average-linkage clustering; up to 1,000 tasks they are
        turned so that neighbours are as near as the tree allows.

        Returns
        -------
        intp array of shape (n_tasks,)
            Positions in `tasks`, so that ``values[order][:, order]`` shows the
            clusters as blocks on the diagonal.
        """
        if self.n_tasks < 3:
            return np.arange(self.n_tasks)
        tree = linkage(
            squareform(self.values, checks=False),
            method="average",
            optimal_ordering=self.n_tasks <= _OPTIMAL_ORDER_TASKS,
        )
        return leaves_list(tree).astype(np.intp)

    def to_frame(self) -> Any:
        """The matrix as a pandas DataFrame, tasks on both axes.

        Returns
        -------
        pandas.DataFrame
            A copy; needs pandas.
        """
        pd = import_optional("pandas", extra="report", purpose="to_frame()")
        index = pd.Index(self.tasks, name="task")
        return pd.DataFrame(self.values.copy(), index=index, columns=index)

    def __repr__(self) -> str:
        shown = slice(_SHOWN_TASKS)
        names = [str(task)[:12] for task in self.tasks[shown].tolist()]
        table = [["", *names]]
        for name, row in zip(names, self.values[shown, shown], strict=True):
            table.append([name, *(f"{distance:.3g}" for distance in row)])
        if self.n_tasks > _SHOWN_TASKS:
            table = [[*row, "..."] for row in table] + [["..."] * (len(names) + 2)]
        width = max(len(cell) for row in table for cell in row)
        lines = ["  ".join(f"{cell:>{width}}" for cell in row) for row in table]
        head = f"TaskDistances(method={self.method!r}, n_tasks={self.n_tasks})"
        return "\n".join([head, *(f"  {line}" for line in lines)])
