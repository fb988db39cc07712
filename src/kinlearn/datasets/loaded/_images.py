"""Loaders of letters and digits, whole or as many small tasks.

The papers make tasks of them: separate two letters, or one digit from the
rest. A task is then a pair of labels, or a single one.
"""

import string
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from kinlearn.datasets._assemble import Loaded, numbered
from kinlearn.datasets._checks import Seed, as_count, as_option, as_random_state
from kinlearn.datasets.loaded._catalogue import DataHome
from kinlearn.datasets.loaded._store import Request, read_npz

__all__ = ["fetch_mnist", "fetch_ocr_letters", "fetch_usps"]

# Zhang and Yeung (2012), sections 4.2 and 4.3; Faddoul (2012), section 5.1.2.
LETTER_PAIRS = ("ce", "gy", "mn", "ag", "ao", "ft", "hn")
DIGIT_PAIRS = tuple((d, d + 1) for d in range(9))
ONE_VERSUS_REST = (1, 2, 3, 4, 5, 6, 7, 8, 9, 0)


def _label_tasks(
    y: np.ndarray, tasks: Sequence[Any], names: list[str]
) -> tuple[Any, ...]:
    """Rows, task and 0/1 label of every (row, task) that takes part, and task names.

    A task is a label (against the rest) or a pair of them: "ce" and ("c", "e") are the
    same. A row appears once for every task that it takes part in; label 1 stands for
    the task's (first) label. Names are such as ``"c/e"`` or ``"3/rest"``.
    """
    rows, codes, labels, task_names = [], [], [], []
    for t, wanted in enumerate(tasks):
        single = np.ndim(wanted) == 0 and not isinstance(wanted, str)
        pair = [str(label) for label in ([wanted] if single else wanted)]
        if len(pair) > 2 or any(label not in names for label in pair):
            raise ValueError(
                f"tasks[{t}] must be one of the labels {', '.join(names)} or a pair "
                f"of them; got {wanted!r}."
            )
        if len(set(pair)) < len(pair):
            raise ValueError(f"tasks[{t}] names the same label twice: {wanted!r}.")
        first = y == names.index(pair[0])
        if len(pair) == 2:
            of_task = np.flatnonzero(first | (y == names.index(pair[1])))
        else:
            of_task = np.arange(len(y))
        rows.append(of_task)
        codes.append(np.full(len(of_task), t))
        labels.append(first[of_task].astype(np.int64))
        task_names.append("/".join(pair) if len(pair) == 2 else f"{pair[0]}/rest")
    joined = (np.concatenate(column) for column in (rows, codes, labels))
    return *joined, task_names


def _draw_rows(
    codes: np.ndarray, n_tasks: int, n_samples_per_task: int, random_state: Seed
) -> np.ndarray:
    """Positions of n rows drawn from each task, in their order."""
    n = as_count(n_samples_per_task, "n_samples_per_task")
    rng = as_random_state(random_state)
    kept = []
    for t in range(n_tasks):
        rows = np.flatnonzero(codes == t)
        if len(rows) < n:
            raise ValueError(
                f"n_samples_per_task={n}, but tasks[{t}] has {len(rows)} rows."
            )
        kept.append(np.sort(rng.choice(rows, n, replace=False)))
    return np.concatenate(kept)


def _with_tasks(
    request: Request,
    X: np.ndarray,
    y: np.ndarray,
    names: list[str],
    *,
    published: Sequence[Any],
    tasks: Any,
    n_samples_per_task: int | None,
    random_state: Seed,
    **by_row: Any,
) -> Loaded:
    """The bunch of the whole set, or of tasks made from it."""
    pixels = numbered(X.shape[1], "pixel")
    if tasks is None:
        if n_samples_per_task is not None:
            raise ValueError("n_samples_per_task needs tasks=, which is None.")
        return request.bunch(X, y, feature_names=pixels, target_names=names, **by_row)
    if isinstance(tasks, str):
        as_option(tasks, "tasks", ("published",))
        tasks = published
    if len(tasks) == 0:
        raise ValueError("tasks is empty; name at least one label or pair.")
    rows, codes, labels, task_names = _label_tasks(y, tasks, names)
    if n_samples_per_task is not None:
        kept = _draw_rows(codes, len(task_names), n_samples_per_task, random_state)
        rows, codes, labels = rows[kept], codes[kept], labels[kept]
    return request.bunch(
        X[rows],
        labels,
        feature_names=pixels,
        target_names=["other", "first"],
        task=codes,
        task_names=task_names,
        task_name="task",
        **{key: value[rows] for key, value in by_row.items()},
        row=rows,
    )


def fetch_ocr_letters(
    *,
    tasks: Literal["published"] | Sequence[Any] | None = None,
    n_samples_per_task: int | None = None,
    random_state: Seed = None,
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
    download_if_missing: bool = True,
) -> Loaded:
    """Load 52,152 handwritten letters of 16 x 8 pixels.

    Nothing is downloaded: the file ``ocr_letters/ocr_letters.npz`` must lie in
    the data folder. Original source: http://ai.stanford.edu/~btaskar/ocr/

    Parameters
    ----------
    tasks : None, "published" or sequence, default=None
        None loads the letters with their 26 labels and no tasks. A sequence
        makes binary tasks: pairs of letters such as ``"ce"``, or single letters
        against the rest. ``"published"`` is c/e, g/y, m/n, a/g, a/o, f/t and h/n
        (Zhang and Yeung 2012). A letter takes part in every task that names it.
    n_samples_per_task : int, default=None
        Draw that many rows for each task; None takes all.
    random_state : int, Generator, RandomState or None, default=None
        Decides the rows that are drawn.
    data_home : path-like, default=None
        Data folder; None is the environment variable ``KINLEARN_DATA``, else
        ``~/kinlearn_data``.
    as_frame : bool, default=False
        Return pandas objects, with the task in the column ``"task"``.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    verify : bool, default=True
        Compare the file's checksum with the known one.
    download_if_missing : bool, default=True
        Fetch files that are not in the data folder, where a public address is known.

    Returns
    -------
    Bunch
        ``data`` (float32 pixels, and the task as the last column if there are
        tasks), ``target`` (position in ``target_names``; with tasks, 1 for the
        first letter of the pair), ``frame``, ``feature_names``,
        ``target_names``, ``task`` (what to pass as ``task=``), ``task_names``,
        ``word`` and ``in_train_fold`` by row, ``row`` (with tasks, the row of
        the whole set) and ``DESCR``.
    (data, target) : tuple
        If ``return_X_y=True``.

    Examples
    --------
    >>> from kinlearn.datasets import fetch_ocr_letters
    >>> letters = fetch_ocr_letters(tasks="published")  # doctest: +SKIP
    >>> letters.task_names[:2]  # doctest: +SKIP
    ['c/e', 'g/y']
    """
    request = Request(
        "ocr_letters", data_home, verify, as_frame, return_X_y, download_if_missing
    )
    stored = read_npz(request.path(), ["X", "y", "word_id", "in_train_fold"])
    return _with_tasks(
        request,
        stored["X"].astype(np.float32),
        stored["y"].astype(np.int64),
        list(string.ascii_lowercase),
        published=LETTER_PAIRS,
        tasks=tasks,
        n_samples_per_task=n_samples_per_task,
        random_state=random_state,
        word=stored["word_id"],
        in_train_fold=stored["in_train_fold"],
    )


def _fetch_digits(request: Request, subset: str, **options: Any) -> Loaded:
    as_option(subset, "subset", ("all", "train", "test"))
    splits = ["train", "test"] if subset == "all" else [subset]
    keys = [f"{key}_{split}" for split in splits for key in "Xy"]
    stored = read_npz(request.path(), keys)
    y = [stored[f"y_{split}"] for split in splits]
    return _with_tasks(
        request,
        np.vstack([stored[f"X_{split}"] for split in splits], dtype=np.float32),
        np.concatenate(y).astype(np.int64),
        [str(d) for d in range(10)],
        **options,
        split=np.repeat(splits, list(map(len, y))),
    )


def fetch_usps(
    *,
    subset: Literal["all", "train", "test"] = "all",
    tasks: Literal["published"] | Sequence[Any] | None = None,
    n_samples_per_task: int | None = None,
    random_state: Seed = None,
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
    download_if_missing: bool = True,
) -> Loaded:
    """Load 9,298 handwritten digits of 16 x 16 pixels from zip codes.

    Nothing is downloaded: the file ``usps/usps.npz`` must lie in the data
    folder. Original source: https://hastie.su.domains/ElemStatLearn/

    Parameters
    ----------
    subset : {"all", "train", "test"}, default="all"
        7,291 training rows, 2,007 test rows, or both in this order.
    tasks : None, "published" or sequence, default=None
        None loads the digits with their 10 labels and no tasks. A sequence makes
        binary tasks: pairs of digits such as ``(3, 5)``, or single digits
        against the rest. ``"published"`` is 0/1, 1/2, ..., 8/9: Zhang and Yeung
        (2012) mention nine pairs, not which; these are our reading.
    n_samples_per_task : int, default=None
        Draw that many rows for each task; None takes all.
    random_state : int, Generator, RandomState or None, default=None
        Decides the rows that are drawn.
    data_home : path-like, default=None
        Data folder; None is the environment variable ``KINLEARN_DATA``, else
        ``~/kinlearn_data``.
    as_frame : bool, default=False
        Return pandas objects, with the task in the column ``"task"``.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    verify : bool, default=True
        Compare the file's checksum with the known one.
    download_if_missing : bool, default=True
        Fetch files that are not in the data folder, where a public address is known.

    Returns
    -------
    Bunch
        As :func:`fetch_ocr_letters`, with pixels between -1 and 1, and ``split``
        by row.
    (data, target) : tuple
        If ``return_X_y=True``.

    Examples
    --------
    >>> from kinlearn.datasets import fetch_usps
    >>> X, y = fetch_usps(tasks=[(3, 5), (4, 9)], return_X_y=True)  # doctest: +SKIP
    """
    return _fetch_digits(
        Request("usps", data_home, verify, as_frame, return_X_y, download_if_missing),
        subset,
        published=DIGIT_PAIRS,
        tasks=tasks,
        n_samples_per_task=n_samples_per_task,
        random_state=random_state,
    )


def fetch_mnist(
    *,
    subset: Literal["all", "train", "test"] = "all",
    tasks: Literal["published"] | Sequence[Any] | None = None,
    n_samples_per_task: int | None = None,
    random_state: Seed = None,
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
    download_if_missing: bool = True,
) -> Loaded:
    """Load 70,000 handwritten digits of 28 x 28 pixels.

    The file ``mnist/mnist.npz`` is fetched into the data folder if it does not lie
    there. Original source: http://yann.lecun.com/exdb/mnist/

    Parameters
    ----------
    subset : {"all", "train", "test"}, default="all"
        60,000 training rows, 10,000 test rows, or both in this order.
    tasks : None, "published" or sequence, default=None
        None loads the digits with their 10 labels and no tasks. A sequence makes
        binary tasks: pairs of digits such as ``(3, 5)``, or single digits
        against the rest. ``"published"`` is each of the ten digits against the
        rest (Faddoul 2012); draw some rows, or it takes ten times the memory.
    n_samples_per_task : int, default=None
        Draw that many rows for each task; None takes all.
    random_state : int, Generator, RandomState or None, default=None
        Decides the rows that are drawn.
    data_home : path-like, default=None
        Data folder; None is the environment variable ``KINLEARN_DATA``, else
        ``~/kinlearn_data``.
    as_frame : bool, default=False
        Return pandas objects, with the task in the column ``"task"``.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    verify : bool, default=True
        Compare the file's checksum with the known one.
    download_if_missing : bool, default=True
        Fetch files that are not in the data folder, where a public address is known.

    Returns
    -------
    Bunch
        As :func:`fetch_ocr_letters`, with pixels from 0 to 255 and ``split`` by row.
    (data, target) : tuple
        If ``return_X_y=True``.

    Examples
    --------
    >>> from kinlearn.datasets import fetch_mnist
    >>> mnist = fetch_mnist(
    ...     subset="train", tasks="published", n_samples_per_task=100, random_state=0
    ... )  # doctest: +SKIP
    """
    return _fetch_digits(
        Request("mnist", data_home, verify, as_frame, return_X_y, download_if_missing),
        subset,
        published=ONE_VERSUS_REST,
        tasks=tasks,
        n_samples_per_task=n_samples_per_task,
        random_state=random_state,
    )
