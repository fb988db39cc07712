"""Models into files, and out of them; what a file says about its model."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from kinlearn.exceptions import KinlearnWarning
from kinlearn.persistence._model_file import open_model, write_model
from kinlearn.persistence._packing import attributes

__all__ = ["load", "save"]


def save(
    model: Any,
    path: str | PathLike[str],
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    about: Mapping[str, Any] | None = None,
    key: bytes | None = None,
) -> None:
    """Save a fitted model as a file that runs no code when it is loaded.

    :func:`load` reads it, and so does ``kin predict``.

    Parameters
    ----------
    model : estimator
        Fitted: an estimator of kinlearn's, a sharing form over one of
        scikit-learn's, or a pipeline or a search that ends in one.
    path : str or path-like
        Where to, by custom with the ending ``.skops``. An old file is replaced when
        the new one is complete.
    target : str, default=None
        Name of what is predicted. ``kin predict`` prints it, and does not wonder at a
        column of this name.
    columns : sequence of str, default=None
        Names of all columns of X in their order, the task included, for a model that
        was fitted to an array: ``kin predict`` finds them in its table by these. None:
        ``x0``, ``x1`` and so on.
    about : mapping, default=None
        Further entries of the manifest, or other ones; they must go into JSON.
    key : bytes, default=None
        A secret to sign the file with, such as ``secrets.token_bytes(32)``. Who has it
        can tell by ``load(path, key=...)`` that nobody without it made or changed the
        file.

    See Also
    --------
    load : The way back.
    kinlearn.persistence.open_model : The model with its manifest.

    Notes
    -----
    The file is a zip archive: a skops file, and a manifest in JSON with columns, tasks,
    classes, versions and a checksum. Types that are neither kinlearn's nor
    scikit-learn's are saved with a warning, because loading must name them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import kinlearn
    >>> from kinlearn.datasets import load_demo
    >>> from kinlearn.trees import MultiTaskDecisionTreeClassifier
    >>> X, y = load_demo(return_X_y=True)
    >>> model = MultiTaskDecisionTreeClassifier(task="clinic").fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.skops"
    ...     kinlearn.save(model, path, target="readmitted")
    ...     again = kinlearn.load(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    manifest = {**_describe(model, target=target, columns=columns), **(about or {})}
    strange = write_model(path, model, manifest, key=key)
    if strange:
        warnings.warn(
            f"The model holds {', '.join(strange)}, which neither kinlearn nor "
            "scikit-learn vouches for, so loading must allow it by name: "
            f"kinlearn.load({str(path)!r}, trusted={strange}), or kin predict --trust "
            "NAME for each.",
            KinlearnWarning,
            stacklevel=2,
        )


def load(
    path: str | PathLike[str],
    *,
    trusted: Iterable[str] = (),
    key: bytes | None = None,
    max_bytes: int | None = None,
) -> Any:
    """Load a model that :func:`save` or ``kin fit`` has saved.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : iterable of str, default=()
        Full names of types, beside those of kinlearn and scikit-learn, that the file
        may build, such as ``"lightgbm.sklearn.LGBMClassifier"``. The error about them
        lists them. Allow what you know, in files of people whom you trust.
    key : bytes, default=None
        The secret that :func:`save` must have signed the file with; another signature,
        and none, is refused. None does not look at signatures.
    max_bytes : int, default=None
        What the file may unpack to. None allows 256 MiB, and a hundred times the size
        of the file where that is more.

    Returns
    -------
    estimator
        Fitted. ``model.feature_names_in_`` has the columns that it wants, so
        ``model.predict(frame[model.feature_names_in_])`` takes the table that ``kin
        fit`` has read, target and all.

    Raises
    ------
    ValueError
        If the file is damaged, was changed, is none of kinlearn's, is too new, unpacks
        to too much, is not signed with `key`, or wants to build a type that is not
        trusted.

    See Also
    --------
    save : The way there.
    kinlearn.persistence.open_model : The model with its manifest.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import kinlearn
    >>> from kinlearn.datasets import load_demo
    >>> from kinlearn.sharing import PerTask
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_demo(return_X_y=True)
    >>> model = PerTask(LogisticRegression(max_iter=1000), task="clinic").fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.skops"
    ...     kinlearn.save(model, path)
    ...     kinlearn.load(path)
    PerTask(estimator=LogisticRegression(max_iter=1000), task='clinic')
    """
    return open_model(path, trusted=trusted, key=key, max_bytes=max_bytes).model


def _describe(
    model: Any, *, target: str | None = None, columns: Sequence[str] | None = None
) -> dict[str, Any]:
    """The manifest of a fitted model, without format, versions and checksum.

    `target` is what it predicts; `columns` name those of X for a model that was fitted
    to an array.
    """
    check_is_fitted(model)
    last = _step(model, -1)
    names, named = _names(model, columns)
    task = _task(model, last, names)
    known = getattr(last, "_columns", None)
    private = [] if known is None else known.all_names[list(known.privileged)].tolist()
    kinds = _kinds(model)
    levels = getattr(known, "levels", ())  # above the task, which may hold text
    above = (
        {} if known is None else dict.fromkeys(known.all_names[list(levels)], "cell")
    )
    classes = getattr(model, "classes_", None)
    return {
        "model": type(last).__name__,
        "kind": "classification"
        if is_classifier(model)
        else "regression"
        if is_regressor(model)
        else None,
        "target": target,
        "classes": None if classes is None else _plain(classes),
        "task": task,
        "tasks": [] if task is None else _plain(getattr(last, "tasks_", ())),
        "order": names,
        "columns": [
            {
                "name": name,
                "kind": above.get(name)
                or kinds.get(name, "cell" if kinds else "value"),
            }
            for name in names
            if name != task
        ],
        "privileged": [name for name in names if name in private],
        "named": named,
    }


def _step(model: Any, place: int) -> Any:
    """What X meets first (0), or what predicts (-1), inside pipelines and searches."""
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps"):
            model = model.steps[place][1]
        else:
            return model


def _names(model: Any, columns: Sequence[str] | None) -> tuple[list[str], bool]:
    """Names of the columns of X, and whether the model itself knows them."""
    found = getattr(model, "feature_names_in_", None)
    if found is not None:
        if columns is not None:
            raise ValueError(
                "columns= names the columns of a model that was fitted to an array; "
                f"this {type(model).__name__} knows its columns. Leave it out."
            )
        return [str(name) for name in found], True
    n = getattr(model, "n_features_in_", None)
    if n is None:
        return list(columns or ()), False
    names = [f"x{i}" for i in range(n)] if columns is None else list(columns)
    if len(names) != n or len(set(names)) != n:
        raise ValueError(
            f"columns must be {n} different names, one for each column of X that "
            f"{type(model).__name__} was fitted to; got {len(names)}."
        )
    return names, False


def _kinds(model: Any) -> dict[str, str]:
    """Columns that the model reads by itself, as cells of any kind, and those it drops.

    Empty for a model that takes columns as they were in `fit`.
    """
    found: dict[str, str] = {}
    for one in (_step(model, 0), _step(model, -1)):
        encoder = getattr(one, "table_encoder_", None) or one
        for meaning in getattr(encoder, "meanings_", ()):
            dropped = meaning["kind"] == "dropped"
            found.setdefault(str(meaning["name"]), "dropped" if dropped else "cell")
    if not found and any(key == "meanings_" for _, key, _ in attributes(model)):
        found = {"": "cell"}  # the model of each task has its own
    return found


def _task(model: Any, last: Any, names: list[str]) -> str | None:
    """The task column of X as it comes in."""
    for one in (_step(model, 0), last):
        task = getattr(one, "task", None)
        if isinstance(task, list | tuple):  # a path, the finest column last
            task = task[-1]
        if isinstance(task, str):
            return task
        if task is not None and -len(names) <= task < len(names):
            return names[task]
    return None


def _plain(values: Any) -> list[Any]:
    """Values as JSON holds them."""
    found = [v.item() if isinstance(v, np.generic) else v for v in list(values)]
    return [v if isinstance(v, str | bool | int | float) else str(v) for v in found]
