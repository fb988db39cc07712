"""Models into files, and out of them."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from kinlearn.exceptions import KinlearnWarning
from kinlearn.persistence._manifest import describe
from kinlearn.persistence._model_file import open_model, write_model

__all__ = ["load", "save"]


def save(
    model: Any,
    path: str | PathLike[str],
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    about: Mapping[str, Any] | None = None,
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
    manifest = {**describe(model, target=target, columns=columns), **(about or {})}
    strange = write_model(path, model, manifest)
    if strange:
        warnings.warn(
            f"The model holds {', '.join(strange)}, which neither kinlearn nor "
            "scikit-learn vouches for, so loading must allow it by name: "
            f"kinlearn.load({str(path)!r}, trusted={strange}), or kin predict --trust "
            "NAME for each.",
            KinlearnWarning,
            stacklevel=2,
        )


def load(path: str | PathLike[str], *, trusted: Iterable[str] = ()) -> Any:
    """Load a model that :func:`save` or ``kin fit`` has saved.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : iterable of str, default=()
        Full names of types, beside those of kinlearn and scikit-learn, that the file
        may build, such as ``"lightgbm.sklearn.LGBMClassifier"``. The error about them
        lists them. Allow what you know, in files of people whom you trust.

    Returns
    -------
    estimator
        Fitted. ``model.feature_names_in_`` has the columns that it wants, so
        ``model.predict(frame[model.feature_names_in_])`` takes the table that ``kin
        fit`` has read, target and all.

    Raises
    ------
    ValueError
        If the file is damaged, was changed, is none of kinlearn's, is too new, or
        wants to build a type that is not trusted.

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
    return open_model(path, trusted=trusted).model
