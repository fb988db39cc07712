"""``kin predict``: predictions of a saved model for new rows."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kinlearn.cli._console import Voice
from kinlearn.cli._errors import UserError, data_errors, listed
from kinlearn.cli._files import Source
from kinlearn.cli._kinds import as_text
from kinlearn.cli._model_file import SavedModel
from kinlearn.cli._prepare import unreadable_cells
from kinlearn.cli._write import write_table

__all__ = ["predict_rows"]


def predict_rows(
    saved: SavedModel,
    source: Source,
    voice: Voice,
    *,
    out: Path | None = None,
    proba: bool = False,
    ids: Sequence[str] = (),
    unknown: str = "error",
) -> None:
    """Predict the rows of a table.

    Parameters
    ----------
    saved : SavedModel
        The model.
    source : Source
        The new rows.
    voice : Voice
        Prints the predictions.
    out : Path, default=None
        Where the table goes; None prints it.
    proba : bool, default=False
        Add the probability of every class.
    ids : sequence of str
        Columns to carry over.
    unknown : {"error", "share"}, default="error"
        What to do about tasks that the model has not seen.
    """
    manifest = saved.manifest
    if proba and manifest["kind"] != "classification":
        raise UserError("--proba is for classes; this model predicts numbers. Drop it.")
    for name in ids:
        source.need(name, "--id")
    X = _features(saved, source, voice)
    X[manifest["task"]] = _tasks(source, manifest, unknown, voice)
    table = {name: source.frame[name] for name in ids}
    table.setdefault(manifest["task"], source.frame[manifest["task"]])
    with data_errors():
        answers = {"prediction": saved.pipeline.predict(X)}
        if proba:
            chances = saved.pipeline.predict_proba(X)
            for j, one in enumerate(manifest["classes"]):
                answers[f"probability_{one}"] = chances[:, j]
    clash = [name for name in answers if name in table]
    if clash:
        raise UserError(
            f"The column {clash[0]!r} of {source.path.name} has the name of an "
            "output column. Rename it, or leave --id out."
        )
    frame = pd.DataFrame({**table, **answers})
    if voice.json:
        cells = frame.astype(object).where(frame.notna(), None)
        voice.give(cells.map(_plain).to_dict(orient="records"))
    if out is not None:
        write_table(frame, out)
        voice.show(f"{len(frame)} predictions of {manifest['target']!r} in {out}.")
    elif not voice.json:
        voice.speak()
        frame.to_csv(sys.stdout, index=False)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _features(saved: SavedModel, source: Source, voice: Voice) -> pd.DataFrame:
    manifest = saved.manifest
    kinds = [kind for kind in manifest["columns"] if kind["kind"] != "dropped"]
    names = [kind["name"] for kind in kinds]
    missing = [n for n in [*names, manifest["task"]] if n not in source.frame.columns]
    if missing:
        raise UserError(
            f"{source.path.name} lacks {listed(missing)}, which the model needs. Add "
            f"{'it' if len(missing) == 1 else 'them'}; cells may be empty, but not in "
            "the task."
        )
    known = {kind["name"] for kind in manifest["columns"]}
    known |= {manifest["task"], manifest["target"]}
    extra = [name for name in source.frame.columns if name not in known]
    if extra:
        voice.note(
            f"Columns that the model does not know are ignored: {listed(extra)}."
        )
    for name, (count, first) in unreadable_cells(source.frame, kinds).items():
        kind = next(k["kind"] for k in kinds if k["name"] == name)
        voice.note(
            f"Column {name!r}: {count} cells are no {kind} (first: {first!r}); taken "
            "as missing."
        )
    frame = source.frame.copy(deep=False)
    for kind in manifest["columns"]:
        if kind["name"] not in frame.columns:  # dropped in training, absent here
            frame[kind["name"]] = None
    return frame[[kind["name"] for kind in manifest["columns"]]].copy(deep=False)


def _tasks(
    source: Source, manifest: dict[str, Any], unknown: str, voice: Voice
) -> np.ndarray:
    known = manifest["tasks"]
    text = as_text(source.frame[manifest["task"]])
    absent = text.isna()
    if absent.any() and unknown == "error":
        first = int(np.flatnonzero(absent)[0]) + 1
        raise UserError(
            f"{int(absent.sum())} rows have no {manifest['task']!r} (first: row "
            f"{first}). Fill it in, or use --unknown-task share."
        )
    lookup = {str(task): task for task in known}
    new = sorted({value for value in text.dropna().unique() if value not in lookup})
    if new and unknown == "error":
        raise UserError(
            f"The model does not know {manifest['task']} {listed(new, 4)}. Known: "
            f"{listed(known, 4)}. Use --unknown-task share for predictions from what "
            "the tasks have in common."
        )
    if new or absent.any():
        n = int((~text.isin(lookup)).sum())
        voice.note(f"{n} rows are of unknown tasks: predicted from what is common.")
    if all(isinstance(task, int) for task in known):
        # a number that no task has, for names that are no numbers
        other = max(known) + 1
        codes = [lookup.get(value, other) for value in text]
        return np.asarray(codes, dtype=np.int64)
    stranger = "(unknown)"
    while stranger in lookup:
        stranger += "?"
    return np.asarray([lookup.get(value, stranger) for value in text], dtype=object)
