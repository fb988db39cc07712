"""Collections of documents to cluster together (Al-Stouhi 2013, section 6.3.5)."""

import numpy as np
import scipy.sparse as sp

from kinlearn.datasets._assemble import Generated, hand_over, numbered
from kinlearn.datasets._checks import Seed, as_count, as_number, as_random_state

__all__ = ["make_term_tasks"]


def make_term_tasks(
    n_tasks: int = 2,
    *,
    n_classes: int = 2,
    n_samples_per_class: int = 400,
    n_terms_per_class: int = 20,
    n_common_terms: int = 20,
    shared: float = 0.0,
    focus: float = 0.7,
    length: float = 30,
    shuffle: bool = True,
    as_frame: bool = False,
    return_truth: bool = False,
    random_state: Seed = None,
) -> Generated:
    """Term counts of documents: classes within tasks, as in text clustering.

    A document has `length` terms on average. A fraction `focus` of them comes from
    its class's terms, the rest from terms that all classes of its task use. A
    fraction `shared` of either vocabulary is the same in all tasks; the rest is
    the task's own.

    Parameters
    ----------
    n_tasks : int, default=2
        Number of tasks, such as mail boxes or web sites.
    n_classes : int, default=2
        Classes in every task.
    n_samples_per_class : int, default=400
        Documents of every class of every task.
    n_terms_per_class : int, default=20
        Terms of a class in one task.
    n_common_terms : int, default=20
        Terms that all classes of a task use alike.
    shared : float, default=0.0
        Fraction of the terms, rounded to whole terms, that tasks have in common.
        At 0 documents of different tasks have no term in common, as in the
        thesis's example; at 1 tasks do not differ at all.
    focus : float, default=0.7
        Fraction of a document's terms that come from its class.
    length : float, default=30
        Mean number of terms of a document (Poisson; at least one).
    shuffle : bool, default=True
        Mix the rows; False leaves them task by task and class by class.
    as_frame : bool, default=False
        Return a dense pandas frame with columns ``term0, ..., task`` and a
        series.
    return_truth : bool, default=False
        Return the truth as well.
    random_state : int, Generator, RandomState or None, default=None
        Decides term frequencies and documents; None differs each time.

    Returns
    -------
    X : sparse csr array of shape (n_samples, n_terms + 1) or DataFrame
        Counts, and the task 0, 1, ... as the last column.
    y : int64 array of shape (n_samples,) or Series
        Class of each document; class k is the same subject in all tasks.
    truth : Bunch
        Only with ``return_truth=True``: ``term_probabilities``
        (n_tasks, n_classes, n_terms).

    Notes
    -----
    The thesis's example has 1,600 rows, 400 for each label of each of 2 tasks,
    and no connection between the tasks; how its rows were drawn is not stated.

    References
    ----------
    S. Al-Stouhi (2013), Learning with an Insufficient Supply of Data via
    Knowledge Transfer and Sharing, thesis, Wayne State University.

    Examples
    --------
    >>> from kinlearn.datasets import make_term_tasks
    >>> X, y = make_term_tasks(random_state=0)
    >>> X.shape
    (1600, 121)
    """
    n_tasks = as_count(n_tasks, "n_tasks")
    n_classes = as_count(n_classes, "n_classes")
    n_rows = as_count(n_samples_per_class, "n_samples_per_class")
    n_own = as_count(n_terms_per_class, "n_terms_per_class")
    n_common = as_count(n_common_terms, "n_common_terms")
    shared = as_number(shared, "shared", low=0.0, high=1.0)
    focus = as_number(focus, "focus", low=0.0, high=1.0)
    length = as_number(length, "length", low=0.0, open_low=True)
    rng = as_random_state(random_state)

    # vocabularies: one per class, and one more that all classes use
    sizes = [n_own] * n_classes + [n_common]
    columns = _columns_of_terms(n_tasks, sizes, shared)
    n_terms = int(max(part.max() for row in columns for part in row)) + 1
    probabilities = np.zeros((n_tasks, n_classes, n_terms))
    for v, size in enumerate(sizes):
        frequency = rng.dirichlet(np.ones(size))
        for t in range(n_tasks):
            if v < n_classes:
                probabilities[t, v, columns[t][v]] = focus * frequency
            else:
                probabilities[t][:, columns[t][v]] = (1.0 - focus) * frequency
    task = np.repeat(np.arange(n_tasks), n_classes * n_rows)
    y = np.tile(np.repeat(np.arange(n_classes), n_rows), n_tasks)
    lengths = np.maximum(rng.poisson(length, len(y)), 1)
    counts = [
        rng.multinomial(n, probabilities[t, k])
        for n, t, k in zip(lengths, task, y, strict=True)
    ]
    return hand_over(
        sp.csr_array(np.array(counts, dtype=np.float64)),
        task,
        y,
        {"term_probabilities": probabilities},
        feature_names=numbered(n_terms, "term"),
        rng=rng,
        shuffle=shuffle,
        as_frame=as_frame,
        return_truth=return_truth,
    )


def _columns_of_terms(
    n_tasks: int, sizes: list[int], shared: float
) -> list[list[np.ndarray]]:
    """Columns that each task uses for each vocabulary: shared ones first."""
    columns: list[list[np.ndarray]] = [[] for _ in range(n_tasks)]
    used = 0
    for size in sizes:
        n_shared = round(shared * size)
        common = np.arange(used, used + n_shared)
        used += n_shared
        for own in columns:
            rest = np.arange(used, used + size - n_shared)
            used += len(rest)
            own.append(np.concatenate([common, rest]))
    return columns
