"""Targets: class codes over all tasks and within each, or numbers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from kinlearn.tasks._values import (
    are_missing,
    encode_values,
    name_task,
    show_values,
)
from kinlearn.utils._typing import ArrayLike, LabelRule

__all__ = [
    "LabelSets",
    "class_codes",
    "classes_by_task",
    "find_label_sets",
    "numbers",
]


def _vector(y: Any, estimator: str) -> np.ndarray:
    if y is None:
        raise ValueError(
            f"{estimator} requires y to be passed, but the target y is None."
        )
    return column_or_1d(y, warn=True)


def _faults(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which targets are missing, and which are infinite."""
    nowhere = np.zeros(1, dtype=bool)
    if y.dtype.kind == "f":
        if np.isfinite(y).all():  # one quick pass for the usual case
            return nowhere, nowhere
        return np.isnan(y), np.isinf(y)
    cells = y.tolist() if y.dtype.kind in "OT" else []
    if set(map(type, cells)) <= {str}:
        return nowhere, nowhere
    return are_missing(cells), nowhere


def _check_all_there(
    y: np.ndarray, estimator: str, task: np.ndarray | None, tasks: np.ndarray | None
) -> None:
    """Refuse missing and infinite targets with the rows and the task at fault."""
    missing, infinite = _faults(y)
    rows = np.flatnonzero(missing if missing.any() else infinite)
    if not len(rows):
        return
    # scikit-learn's wording, then ours
    if missing.any():
        value = y[rows[0]]
        what = "NaN" if isinstance(value, float | np.floating) else value
        needed, remedy = "a target in every row", "impute their targets"
    else:
        what = f"infinity or a value too large for {y.dtype!r}"
        needed, remedy = "finite targets", "put finite ones there"
    at = "position" if len(rows) == 1 else "positions"
    first = name_task(rows[0], task, tasks)
    of_task = f"; the first is of {first}" if first else ""
    raise ValueError(
        f"Input y contains {what}. It stands in {len(rows)} of {len(y)} rows, at {at} "
        f"{show_values(rows)}{of_task}. {estimator} needs {needed}: drop these rows, "
        f"or {remedy}."
    )


def class_codes(
    y: ArrayLike | None,
    estimator: str,
    task: np.ndarray | None = None,
    tasks: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Sorted classes and the code of each row's class.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class labels of any one kind.
    estimator : str
        Name for messages.
    task : int array of shape (n,), default=None
        Task code of each row, for messages.
    tasks : ndarray, default=None
        Task values that the codes stand for.

    Returns
    -------
    classes : ndarray
        Distinct labels, ascending.
    codes : int32 array of shape (n,)
        Class of each row.

    Examples
    --------
    >>> from kinlearn.tasks import class_codes
    >>> class_codes(["yes", "no", "yes"], "This estimator")
    (array(['no', 'yes'], dtype='<U3'), array([1, 0, 1], dtype=int32))
    """
    y = _vector(y, estimator)
    _check_all_there(y, estimator, task, tasks)
    if y.dtype.kind in "OT":
        y = _plain_labels(y)
        if y.dtype == object:  # strings
            return encode_values(y)
        _check_all_there(y, estimator, task, tasks)
    check_classification_targets(y)
    return encode_values(y)


def _plain_labels(y: np.ndarray) -> np.ndarray:
    """Objects as an array of their own type; strings stay objects."""
    cells = y.tolist()
    types = set(map(type, cells))
    if all(issubclass(t, str) for t in types):
        return y.astype(object)
    if any(issubclass(t, str) for t in types):
        kinds = sorted(t.__name__ for t in types)
        raise TypeError(
            f"y mixes labels that cannot be ordered ({', '.join(kinds)}). Convert "
            "them to one type."
        )
    numeric = all(issubclass(t, bool | Number | np.generic) for t in types)
    plain = np.asarray(cells if numeric else "other")
    if plain.dtype.kind not in "biuf":
        kinds = sorted(t.__name__ for t in types)
        raise ValueError(
            f"Unknown label type: y holds {', '.join(kinds)}. Labels must be strings "
            "or integers."
        )
    return plain


def numbers(
    y: ArrayLike | None,
    estimator: str,
    task: np.ndarray | None = None,
    tasks: np.ndarray | None = None,
) -> np.ndarray:
    """The target as finite float64 numbers.

    Parameters
    ----------
    y : array-like of shape (n,)
        Numbers.
    estimator : str
        Name for messages.
    task : int array of shape (n,), default=None
        Task code of each row, for messages.
    tasks : ndarray, default=None
        Task values that the codes stand for.

    Returns
    -------
    float64 array of shape (n,)
        The target.

    Examples
    --------
    >>> from kinlearn.tasks import numbers
    >>> numbers([1, 2], "This estimator")
    array([1., 2.])
    """
    y = _vector(y, estimator)
    if y.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y has dtype {y.dtype}.")
    if y.dtype.kind not in "fiubO":
        raise ValueError(
            f"y has dtype {y.dtype}, which is not numeric. Regression needs numbers."
        )
    _check_all_there(y, estimator, task, tasks)
    try:
        checked: np.ndarray = check_array(
            y,
            dtype=np.float64,
            ensure_2d=False,
            ensure_all_finite=False,
            input_name="y",
            estimator=estimator,
        )
    except OverflowError as error:
        raise ValueError(
            f"y holds a number too large for float64 ({error})."
        ) from error
    _check_all_there(checked, estimator, task, tasks)
    return checked


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
    :func:`find_label_sets`. What a task's own rows say of such a class, nothing, is
    then mixed with what is common to all (:meth:`fill`).

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
        """Class probabilities with no mass on classes that the task lacks.

        Parameters
        ----------
        proba : array of shape (n_samples, n_classes)
            Probabilities, or any non-negative scores.
        task : int array of shape (n_samples,)
            Task codes; an unknown task (-1) may have any class.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; a row whose mass lay wholly elsewhere is uniform over
            its task's classes.
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
        an unknown task, half the shares of the classes in all rows. Other tasks keep
        what they have.

        Parameters
        ----------
        proba : array of shape (n_samples, n_classes)
            Probabilities, none on classes that the task lacks.
        task : int array of shape (n_samples,)
            Task codes; -1 is unknown.
        common : callable, default=None
            From row numbers to probabilities for an unknown task; None if the model
            has none, so that the shares in all rows count alone.

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
    """Mass on allowed classes alone, which sums to 1; uniform where there is none."""
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
    two classes, as with one row in each: then all have all. "observed" takes the rows
    at their word. A mapping says it; tasks that it does not name follow
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
        own = pairs[named[pairs // n_classes]]
        _check_given(np.setdiff1d(own, given), tasks, classes)
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
    if (np.diff(task) > 0).all():  # no task has two: that says nothing about others
        return (task[:, None] * n_classes + np.unique(label)).ravel()
    n_nodes = n_tasks + n_classes
    links = coo_array(
        (np.ones(len(pairs), dtype=bool), (task, n_tasks + label)),
        shape=(n_nodes, n_nodes),
    )
    _, part = connected_components(links, directed=False)
    # classes of each part, in ascending order, then those of each task's part
    order = np.argsort(part[n_tasks:], kind="stable")
    first = np.searchsorted(part[n_tasks:][order], [part[:n_tasks], part[:n_tasks] + 1])
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
