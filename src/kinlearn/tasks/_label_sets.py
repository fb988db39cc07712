"""Label sets: the classes that each task has, by its rows or by a rule."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kinlearn.tasks._task_column import encode_values
from kinlearn.utils._loaded import check_below, check_numbers, check_starts, demand
from kinlearn.utils._typing import LabelRule
from kinlearn.utils._values import show_values

__all__ = ["LabelSets", "classes_by_task", "find_label_sets"]


def classes_by_task(
    task: np.ndarray, y: np.ndarray, n_tasks: int, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which classes occur in which task, as a ragged table.

    Parameters
    ----------
    task, y : int arrays of shape (n,)
        Task code and class code of each row.
    n_tasks, n_classes : int
        How many there are.

    Returns
    -------
    indptr : intp array of shape (n_tasks + 1,)
        Task t has the classes ``codes[indptr[t]:indptr[t + 1]]``.
    codes : int32 array
        Class codes, ascending within each task.
    local : int32 array of shape (n,)
        Class of each row, counted within its task.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.tasks import classes_by_task
    >>> classes_by_task(np.array([0, 0, 1]), np.array([0, 2, 2]), 2, 3)[1]
    array([0, 2, 2], dtype=int32)
    """
    pairs, place = encode_values(task.astype(np.int64) * n_classes + y)
    indptr = np.searchsorted(pairs, np.arange(n_tasks + 1) * n_classes)
    local = place - indptr[task]
    return indptr, (pairs % n_classes).astype(np.int32), local.astype(np.int32)


@dataclass(frozen=True, eq=False)
class LabelSets:
    r"""The classes that each task has, and predictions that keep to them.

    A class may belong to a task without being in any of its rows: see
    :func:`find_label_sets`. As the task's rows show nothing of it, what is common to
    all is then mixed in (:meth:`fill`).

    Attributes
    ----------
    indptr : intp array of shape (n_tasks + 1,)
        Task t has the classes ``codes[indptr[t]:indptr[t + 1]]``.
    codes : int32 array
        Class codes, ascending within each task.
    n_classes : int
        Number of classes over all tasks.
    seen : bool array of the shape of `codes`
        Whether a row of the task has the class.
    task_weight : float64 array of shape (n_tasks,)
        Weight of each task's rows; their number, if there are no weights.
    class_weight : float64 array of shape (n_classes,)
        Weight of each class's rows.
    """

    indptr: np.ndarray
    codes: np.ndarray
    n_classes: int
    seen: np.ndarray
    task_weight: np.ndarray
    class_weight: np.ndarray

    def check(self, n_tasks: int, n_classes: int) -> None:
        """Refuse sets that do not fit a loaded model.

        Parameters
        ----------
        n_tasks, n_classes : int
            How many tasks and classes the model has.
        """
        demand(self.n_classes == n_classes, "n_classes")
        n = len(self.codes)
        check_starts("indptr", self.indptr, n_tasks, n)
        check_numbers("codes", self.codes, np.int32, (n,))
        check_below("codes", self.codes, n_classes)
        check_numbers("seen", self.seen, bool, (n,))
        check_numbers("task_weight", self.task_weight, np.float64, (n_tasks,))
        check_numbers("class_weight", self.class_weight, np.float64, (n_classes,))

    def by_task(self, tasks: np.ndarray, classes: np.ndarray) -> dict[Any, np.ndarray]:
        """The labels of each task.

        Parameters
        ----------
        tasks, classes : ndarray
            Task values and labels that the codes stand for.

        Returns
        -------
        dict
            From task value to an array of labels.
        """
        labels = classes[self.codes]
        return {
            task: labels[self.indptr[t] : self.indptr[t + 1]]
            for t, task in enumerate(tasks.tolist())
        }

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.indptr) - 1

    @property
    def complete(self) -> bool:
        """Whether every task has every class."""
        return len(self.codes) == self.n_tasks * self.n_classes

    @property
    def owner(self) -> np.ndarray:
        """Task code of each of `codes`."""
        return np.repeat(np.arange(self.n_tasks), np.diff(self.indptr))

    @property
    def guessing(self) -> np.ndarray:
        """Which tasks have a class that none of their rows has."""
        out = np.zeros(self.n_tasks, dtype=bool)
        out[self.owner[~self.seen]] = True
        return out

    @property
    def observed(self) -> "LabelSets":
        """The sets of the classes that rows of the task have."""
        return self.only(self.seen)

    def only(self, kept: np.ndarray) -> "LabelSets":
        """Smaller sets.

        Parameters
        ----------
        kept : bool array of the shape of `codes`
            Which classes stay in their sets.

        Returns
        -------
        LabelSets
            With these.
        """
        sizes = np.bincount(self.owner[kept], minlength=self.n_tasks)
        return replace(
            self,
            indptr=np.concatenate([[0], np.cumsum(sizes)]),
            codes=self.codes[kept],
            seen=self.seen[kept],
        )

    def weighed(self, pair_weight: np.ndarray) -> "LabelSets":
        """The same sets with other weights of the rows.

        Parameters
        ----------
        pair_weight : float64 array of shape (n_seen,)
            Weight of the rows of each pair of a task and a class that `seen` marks.

        Returns
        -------
        LabelSets
            With these weights of tasks and classes; a class is seen in a task if its
            rows there have some.
        """
        task, label = self.owner[self.seen], self.codes[self.seen]
        seen = self.seen.copy()
        seen[self.seen] = pair_weight > 0
        return replace(
            self,
            seen=seen,
            task_weight=np.bincount(task, pair_weight, minlength=self.n_tasks),
            class_weight=np.bincount(label, pair_weight, minlength=self.n_classes),
        )

    def counting(
        self, task: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> "LabelSets":
        """The same sets, in which a class is seen if some row of it has weight.

        Parameters
        ----------
        task, y : int arrays of shape (n,)
            Task code and class code of each row.
        weight : float64 array of shape (n,)
            Weights.

        Returns
        -------
        LabelSets
            With fewer classes that are seen.
        """
        rows = weight > 0
        pairs = task[rows].astype(np.int64) * self.n_classes + y[rows]
        return replace(
            self, seen=np.isin(self.owner * self.n_classes + self.codes, pairs)
        )

    def renumbered(
        self, task: np.ndarray, n_tasks: int, label: np.ndarray, n_classes: int
    ) -> "LabelSets":
        """The same sets among more tasks and classes.

        Parameters
        ----------
        task : int array of shape (self.n_tasks,)
            Code of each task among the new ones, ascending.
        n_tasks : int
            How many tasks there are now.
        label : int array of shape (self.n_classes,)
            Code of each class among the new ones, ascending.
        n_classes : int
            How many classes there are now.

        Returns
        -------
        LabelSets
            New tasks have no classes, new classes no tasks.
        """
        sizes = np.zeros(n_tasks, dtype=np.intp)
        sizes[task] = np.diff(self.indptr)
        task_weight, class_weight = np.zeros(n_tasks), np.zeros(n_classes)
        task_weight[task] = self.task_weight
        class_weight[label] = self.class_weight
        return LabelSets(
            np.concatenate([[0], np.cumsum(sizes)]),
            label[self.codes].astype(np.int32),
            n_classes,
            self.seen,
            task_weight,
            class_weight,
        )

    def allowed(self, task: np.ndarray) -> np.ndarray:
        """Which classes each row may get.

        Parameters
        ----------
        task : int array of shape (n_samples,)
            Task codes; an unknown task (-1) may have any class.

        Returns
        -------
        bool array of shape (n_samples, n_classes)
            True where the row's task has the class.
        """
        # one row per task, the last one (which -1 picks) for the unknown
        table = np.zeros((self.n_tasks + 1, self.n_classes), dtype=bool)
        table[self.owner, self.codes] = True
        table[-1] = True
        return table[task]

    def restrict(self, proba: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Class probabilities, none on classes that the task lacks.

        Parameters
        ----------
        proba : array of shape (n_samples, n_classes)
            Probabilities, or any non-negative scores.
        task : int array of shape (n_samples,)
            Task codes; an unknown task (-1) may have any class.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; a row with nothing on its task's classes is uniform over
            these.
        """
        if self.complete:
            return proba
        return _within(proba, self.allowed(task))

    def fill(
        self,
        proba: np.ndarray,
        task: np.ndarray,
        common: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> np.ndarray:
        r"""Class probabilities that are not zero for want of rows.

        For a task of :math:`n` rows that show only some of its classes, frequencies
        :math:`p` of its own become :math:`(n p + q) / (n + 1)`, as by one row more,
        whose class has the probabilities :math:`q`: half those that the model has for
        an unknown task, half the frequencies of the classes in all rows. Other tasks
        keep what they have.

        Parameters
        ----------
        proba : array of shape (n_samples, n_classes)
            Probabilities, none on classes that the task lacks.
        task : int array of shape (n_samples,)
            Task codes; -1 is unknown.
        common : callable, default=None
            From row numbers to probabilities for an unknown task; None if the model
            has none, so that the frequencies in all rows count alone.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        guessing = np.append(self.guessing, False)  # -1, the unknown, is last
        rows = np.flatnonzero(guessing[task])
        if len(rows) == 0:
            return proba
        allowed = self.allowed(task[rows])
        more = _within(self.class_weight, allowed)
        if common is not None:
            more = (more + _within(common(rows), allowed)) / 2
        n = self.task_weight[task[rows]][:, None]
        out = proba.copy()
        out[rows] = (n * proba[rows] + more) / (n + 1)
        return out


def _within(proba: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Probabilities of allowed classes alone; uniform where there are none."""
    proba = np.where(allowed, proba, 0.0)
    lost = proba.sum(axis=1) <= 0
    proba[lost] = allowed[lost]
    return proba / proba.sum(axis=1, keepdims=True)


def find_label_sets(
    task: np.ndarray,
    y: np.ndarray,
    tasks: np.ndarray,
    classes: np.ndarray,
    rule: LabelRule = "connected",
    weight: np.ndarray | None = None,
    before: LabelSets | None = None,
) -> LabelSets:
    """Which classes each task has, by one of three rules.

    Tasks that have a class in common have all classes of each other, and so on from
    task to task ("connected"): a class that thirty rows of a task happen not to show is
    possible there. Tasks without a common class keep theirs apart, unless no task shows
    two classes, as with one row in each: then all have all. "observed" takes those of
    the task's rows. A mapping gives them; tasks that it does not name follow
    "connected", and classes that no row of any task has are left out, as no model can
    learn them.

    Parameters
    ----------
    task, y : int arrays of shape (n,)
        Task code and class code of each row.
    tasks, classes : ndarray
        Task values and labels that the codes stand for.
    rule : {"connected", "observed"} or mapping, default="connected"
        The rule; a mapping is from task values to labels.
    weight : float64 array of shape (n,), default=None
        Weights; None is 1 for all. A row of weight 0 still shows its class.
    before : LabelSets, default=None
        What earlier rows of the same tasks and classes had.

    Returns
    -------
    LabelSets
        The classes of each task.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.tasks import find_label_sets
    >>> tasks, classes = np.array(["a", "b", "c"]), np.array(["no", "x", "yes"])
    >>> rows = np.array([0, 0, 1, 2]), np.array([0, 2, 0, 1])
    >>> sets = find_label_sets(*rows, tasks, classes)
    >>> sets.by_task(tasks, classes)["b"]
    array(['no', 'yes'], dtype='<U3')
    >>> sets.by_task(tasks, classes)["c"]
    array(['x'], dtype='<U3')
    """
    n_tasks, n_classes = len(tasks), len(classes)
    task_weight = np.bincount(task, weight, minlength=n_tasks).astype(np.float64)
    class_weight = np.bincount(y, weight, minlength=n_classes).astype(np.float64)
    pairs = np.unique(task.astype(np.int64) * n_classes + y)
    if before is not None:
        task_weight += before.task_weight
        class_weight += before.class_weight
        old = before.owner * n_classes + before.codes
        pairs = np.union1d(pairs, old[before.seen])
    every = pairs
    if not isinstance(rule, str):
        given, named = _given_pairs(rule, tasks, classes)
        shown = pairs[named[pairs // n_classes]]
        _check_given(np.setdiff1d(shown, given), tasks, classes)
        rest = pairs[~named[pairs // n_classes]]
        linked = _connected_pairs(np.union1d(rest, given), n_tasks, n_classes)
        linked = linked[~named[linked // n_classes]]
        every = np.union1d(given, linked)
    elif rule == "connected":
        every = _connected_pairs(pairs, n_tasks, n_classes)
    elif rule != "observed":
        raise ValueError(
            'label_sets must be "connected", "observed" or a mapping from tasks to '
            f"their classes; got {rule!r}."
        )
    return LabelSets(
        indptr=np.searchsorted(every, np.arange(n_tasks + 1) * n_classes),
        codes=(every % n_classes).astype(np.int32),
        n_classes=n_classes,
        seen=np.isin(every, pairs, assume_unique=True),
        task_weight=task_weight,
        class_weight=class_weight,
    )


def _connected_pairs(pairs: np.ndarray, n_tasks: int, n_classes: int) -> np.ndarray:
    """Pairs of a task and a class, with all that follow from task to task."""
    task, label = np.divmod(pairs, n_classes)
    if (np.diff(task) > 0).all():  # no task has two: nothing follows for others
        return (task[:, None] * n_classes + np.unique(label)).ravel()
    n_nodes = n_tasks + n_classes
    links = coo_array(
        (np.ones(len(pairs), dtype=bool), (task, n_tasks + label)),
        shape=(n_nodes, n_nodes),
    )
    _, component = connected_components(links, directed=False)
    # classes of each component, in ascending order, then those of each task's component
    order = np.argsort(component[n_tasks:], kind="stable")
    first = np.searchsorted(
        component[n_tasks:][order], [component[:n_tasks], component[:n_tasks] + 1]
    )
    sizes = first[1] - first[0]
    start = np.repeat(first[0] - (np.cumsum(sizes) - sizes), sizes)
    owner = np.repeat(np.arange(n_tasks), sizes)
    return owner * n_classes + order[start + np.arange(len(owner))]


def _given_pairs(
    given: Mapping[Any, Any], tasks: np.ndarray, classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of a task and a class by a mapping, and which tasks it names."""
    texts = isinstance(tasks.tolist()[0], str)
    odd = [name for name in given if isinstance(name, str) != texts]
    if odd:
        raise TypeError(
            f"label_sets names a task {odd[0]!r}, but the task column holds "
            f"{show_values(tasks)}. Write tasks as they are in the column."
        )
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    pairs, named = [], np.zeros(len(tasks), dtype=bool)
    for t, name in enumerate(tasks.tolist()):
        if name not in given:
            continue
        named[t] = True
        labels = given[name]
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise TypeError(
                f"label_sets gives {labels!r} for task {name!r}; a list of its classes "
                "is needed."
            )
        known = [label for label in np.asarray(labels).tolist() if label in code_of]
        pairs += [t * len(classes) + code_of[label] for label in known]
    return np.unique(np.array(pairs, dtype=np.int64)), named


def _check_given(strange: np.ndarray, tasks: np.ndarray, classes: np.ndarray) -> None:
    """Refuse rows of a class that a mapping does not give their task."""
    if len(strange) == 0:
        return
    task, label = divmod(int(strange[0]), len(classes))
    raise ValueError(
        f"Rows of task {tasks.tolist()[task]!r} have the class "
        f"{classes.tolist()[label]!r}, which label_sets does not give it. Add the "
        'class to the mapping, or set label_sets="connected".'
    )
