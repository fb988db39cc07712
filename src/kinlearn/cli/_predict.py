"""``kin predict``: predictions of a saved model for new rows."""

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn.utils

from kinlearn.cli import _process
from kinlearn.cli._console import Output
from kinlearn.cli._errors import UserError, data_errors, file_error, listed
from kinlearn.cli._files import Source, as_csv, as_text, write_table
from kinlearn.exceptions import UnknownTaskWarning
from kinlearn.persistence import SavedModel, open_model
from kinlearn.tables import unreadable_cells

__all__ = ["open_saved", "predict_rows"]


def open_saved(
    path: Path, trusted: Sequence[str] = (), key: bytes | None = None
) -> SavedModel:
    """Read a model file, or raise an error of one line."""
    _import_skops()
    try:
        return open_model(path, trusted=trusted, key=key)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise file_error(error, path, "read") from error
    except (ValueError, ImportError) as error:
        raise UserError(str(error)) from error


def _import_skops() -> None:
    """Import skops without all of scikit-learn.

    For its list of trusted types skops imports every module of scikit-learn, which
    takes longer than to load a model; ``kinlearn.persistence`` finds out by itself
    which types are estimators of scikit-learn's. In a process of others, skops is left
    as it is.
    """
    if not _process["is_own"] or "skops" in sys.modules:
        return
    all_estimators = sklearn.utils.all_estimators
    sklearn.utils.all_estimators = list
    try:
        import skops.io  # noqa: F401
    except ImportError:
        pass  # the error comes where it is needed
    finally:
        sklearn.utils.all_estimators = all_estimators


def predict_rows(
    saved: SavedModel,
    source: Source,
    output: Output,
    *,
    out: Path | None = None,
    proba: bool = False,
    ids: Sequence[str] = (),
    unknown: str = "warn",
) -> None:
    """Predict the rows of a table."""
    manifest, task = saved.manifest, saved.manifest["task"]
    if not hasattr(saved.model, "predict"):
        raise UserError(f"A model of type {manifest['model']} predicts nothing.")
    if proba and manifest["kind"] != "classification":
        raise UserError("--proba is for classes; this model predicts numbers. Drop it.")
    if proba and not hasattr(saved.model, "predict_proba"):
        raise UserError(f"{manifest['model']} has no probabilities. Drop --proba.")
    for name in ids:
        source.need(name, "--id")
    X = _features(saved, source, output)
    table = {name: source.frame[name] for name in ids}
    if task is not None:
        X[task] = _tasks(source, manifest, unknown, output)
        table.setdefault(task, source.frame[task])
    with data_errors(), warnings.catch_warnings():
        if manifest["tasks"]:  # there is a remark already, if there is to be one
            warnings.simplefilter("ignore", UnknownTaskWarning)
        rows = X if manifest.get("named", True) else X.to_numpy()
        predictions = {"prediction": saved.model.predict(rows)}
        if proba:
            chances = saved.model.predict_proba(rows)
            for j, one in enumerate(manifest["classes"]):
                predictions[f"probability_{one}"] = chances[:, j]
    clash = [name for name in predictions if name in table]
    if clash:
        raise UserError(
            f"The column {clash[0]!r} of {source.path.name} has the name of an "
            "output column. Rename it, or leave --id out."
        )
    frame = pd.DataFrame({**table, **predictions})
    if output.json:
        cells = frame.astype(object).where(frame.notna(), None)
        output.print_json(cells.map(_plain).to_dict(orient="records"))
    if out is not None:
        write_table(frame, out, output)
        of = "" if manifest["target"] is None else f" of {manifest['target']!r}"
        output.show(f"{len(frame)} predictions{of} in {out}.")
    elif not output.json:
        safe = as_csv(frame, output)
        output.print_notes()
        safe.to_csv(sys.stdout, index=False)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _features(saved: SavedModel, source: Source, output: Output) -> pd.DataFrame:
    """X as the model takes it; the task column is not read yet."""
    manifest, frame = saved.manifest, source.frame.copy(deep=False)
    kinds = {kind["name"]: kind for kind in manifest["columns"]}
    order = manifest.get("order", [*kinds, manifest["task"]])
    optional = {name for name, kind in kinds.items() if kind["kind"] == "dropped"}
    privileged = set(manifest.get("privileged", ()))
    missing = [n for n in order if n not in {*frame.columns, *optional, *privileged}]
    if missing:
        hint = ""
        if not manifest.get("named", True):
            hint = " It was fitted to an array: kinlearn.save(columns=...) names them."
        raise UserError(
            f"{source.path.name} lacks {listed(missing)}, which the model needs. Add "
            f"{'it' if len(missing) == 1 else 'them'}; cells may be empty, but not in "
            f"the task.{hint}"
        )
    known = {*order, *kinds, manifest["target"]}
    extra = [name for name in frame.columns if name not in known]
    if extra:
        output.note(
            f"Columns that the model does not know are ignored: {listed(extra)}."
        )
    plain = ("value", "cell")  # what a model of Python knows of its columns
    meant = [k for n, k in kinds.items() if n in frame and k["kind"] not in plain]
    for name, (count, first) in unreadable_cells(frame, meant).items():
        output.note(
            f"Column {name!r}: {count} cells are no {kinds[name]['kind']} (first: "
            f"{first!r}); taken as missing."
        )
    for name, kind in kinds.items():
        if kind["kind"] == "value" and name in frame:
            frame[name] = _as_pandas_reads(frame[name])
        elif name in optional and name not in frame:  # dropped in training, absent here
            frame[name] = None
    return frame[[name for name in order if name in frame]].copy(deep=False)


def _as_pandas_reads(column: pd.Series) -> pd.Series:
    """Cells of text as ``pandas.read_csv`` would have read them."""
    if not pd.api.types.is_string_dtype(column.dtype):
        return column
    present = column.dropna()
    if not len(present):
        return column.astype(np.float64)
    if present.isin(["True", "False"]).all() and len(present) == len(column):
        return column == "True"
    try:
        return pd.to_numeric(column)
    except (ValueError, TypeError):
        return column


def _tasks(
    source: Source, manifest: dict[str, Any], unknown: str, output: Output
) -> np.ndarray:
    known = manifest["tasks"]
    if not known:  # a model that does not tell: it decides itself
        return _as_pandas_reads(source.frame[manifest["task"]]).to_numpy()
    text = as_text(source.frame[manifest["task"]])
    absent = text.isna()
    if absent.any() and unknown == "error":
        first = int(np.flatnonzero(absent)[0]) + 1
        raise UserError(
            f"{int(absent.sum())} rows have no {manifest['task']!r} (first: row "
            f"{first}). Fill it in, or use --unknown-task warn."
        )
    lookup = {str(task): task for task in known}
    new = sorted({value for value in text.dropna().unique() if value not in lookup})
    if new and unknown == "error":
        raise UserError(
            f"The model does not know {manifest['task']} {listed(new, 4)}. Known: "
            f"{listed(known, 4)}. Use --unknown-task warn for predictions from what "
            "the tasks have in common."
        )
    if unknown == "warn" and (new or absent.any()):
        n = int((~text.isin(lookup)).sum())
        which = [f"an unknown {manifest['task']} ({listed(new, 4)})"] * bool(new)
        which += [f"no {manifest['task']}"] * bool(absent.any())
        output.note(
            f"{n} rows have {' or '.join(which)}: predicted from what is common."
        )
    if all(isinstance(task, int | float) for task in known):
        # a number that no task has, for names that are no numbers
        other = int(max(known)) + 1
        codes = [lookup.get(value, other) for value in text]
        return np.asarray(codes, dtype=np.int64)
    stranger = "(unknown)"
    while stranger in lookup:
        stranger += "?"
    text = text.astype(object).where(~absent, stranger)
    return np.asarray([lookup.get(value, value) for value in text], dtype=object)
