"""Model files: a skops file with a manifest, checked before anything is built.

A skops file is a zip of JSON and arrays that runs no code on loading. Ours has one
entry more, ``kinlearn.json``, with what a user of the model must know, and a SHA-256
over everything. The checksum finds damage and careless edits. It is no signature:
against a file made to do harm stands the list of types that may be built.
"""

import hashlib
import io
import json
import zipfile
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from kinlearn.cli._errors import UserError, listed, one_line, told_by_os
from kinlearn.cli._write import replacing

__all__ = ["SavedModel", "load_model", "save_model"]

_ENTRY = "kinlearn.json"
_FORMAT, _VERSION = "kinlearn-model", 1
_PACKAGES = ("kinlearn", "scikit-learn", "numpy", "skops")
_REMEDY = "Save the model again by `kin fit`."
_FIELDS: dict[str, Any] = {
    "versions": dict,
    "created": str,
    "model": str,
    "kind": str,
    "target": str,
    "classes": (list, type(None)),
    "task": str,
    "tasks": list,
    "columns": list,
}

# What a model of ours is made of, beside what skops trusts by itself.
_TRUSTED = frozenset(
    {
        "kinlearn.boosting._abstaining.AbstainingAdaBoostClassifier",
        "kinlearn.boosting._adaboost_m1.MultiTaskAdaBoostClassifier",
        "kinlearn.boosting._hypotheses.LinearHypotheses",
        "kinlearn.boosting._label_codes.ClassScores",
        "kinlearn.boosting._label_codes.LabelCodes",
        "kinlearn.boosting._mtboost.MTBoostClassifier",
        "kinlearn.boosting._mtboost_regressor.MTBoostRegressor",
        "kinlearn.boosting._stump_answers.StumpAnswers",
        "kinlearn.boosting._stumps.TwoTaskStumps",
        "kinlearn.boosting._task_covariance.TaskCovariance",
        "kinlearn.boosting._tree_votes.TreeVotes",
        "kinlearn.cli._prepare.TableColumns",
        "kinlearn.sharing._kin._calibration.Calibration",
        "kinlearn.sharing._kin._classifier.KinClassifier",
        "kinlearn.sharing._kin._like_tasks.LikeTasks",
        "kinlearn.sharing._kin._models.BoostedOverLinear",
        "kinlearn.sharing._kin._models.MeanOf",
        "kinlearn.sharing._kin._models.StandardisedSVR",
        "kinlearn.sharing._kin._models.TaskByCoefficients",
        "kinlearn.sharing._kin._regressor.KinRegressor",
        "kinlearn.sharing._kin._scale.Standardisation",
        "kinlearn.sharing._one_model.Pooled",
        "kinlearn.sharing._per_task.PerTask",
        "kinlearn.sharing._shared_plus_own.SharedPlusOwn",
        "kinlearn.sharing._task_as_feature.TaskAsFeature",
        "kinlearn.svm._feature_selection.PrivilegedFeatureSelectionClassifier",
        "kinlearn.svm._machines.Blocks",
        "kinlearn.svm._machines.Correction",
        "kinlearn.svm._machines.Machines",
        "kinlearn.svm._multi_task_svc.MultiTaskSVC",
        "kinlearn.svm._multi_task_svr.MultiTaskSVR",
        "kinlearn.svm._space.Space",
        "kinlearn.svm._svm_plus_classifier.SVMPlusClassifier",
        "kinlearn.svm._svm_plus_regressor.SVMPlusRegressor",
        "kinlearn.tasks._columns.TaskColumns",
        "kinlearn.tasks._keep_task.KeepTask",
        "kinlearn.tasks._labels.LabelSets",
        "kinlearn.trees._decision_tree.MultiTaskDecisionTreeClassifier",
        "kinlearn.trees._extra_trees_classifier.MultiTaskExtraTreesClassifier",
        "kinlearn.trees._extra_trees_regressor.MultiTaskExtraTreesRegressor",
        "kinlearn.trees._forest.Forest",
        "kinlearn.trees._linear_part.LinearPart",
        "kinlearn.trees._mt_tree.MultiTaskTree",
        "kinlearn.trees._random_forest.MultiTaskRandomForestClassifier",
        "numpy.dtype",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        # boosting keeps its check of categorical columns as partial(check_array, ...)
        "functools.partial",
        "sklearn.utils.validation.check_array",
    }
)


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model and what must be known to use it.

    Attributes
    ----------
    pipeline : Pipeline
        Preparation and estimator; takes the columns of the manifest and the task.
    manifest : dict
        Format, versions, columns with their kinds, tasks, target and classes.
    """

    pipeline: Any
    manifest: dict


def save_model(path: Path, pipeline: Any, manifest: dict[str, Any]) -> None:
    """Write a model file.

    Parameters
    ----------
    path : Path
        Where to; an old file is replaced when the new one is complete.
    pipeline : Pipeline
        Fitted.
    manifest : dict
        The fields of ``_FIELDS`` but versions and created, which are added here.
    """
    import skops.io

    content = skops.io.dumps(pipeline)
    manifest = {
        "format": _FORMAT,
        "format_version": _VERSION,
        "versions": {name: metadata.version(name) for name in _PACKAGES},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **manifest,
    }
    with zipfile.ZipFile(io.BytesIO(content)) as inner:
        parts = {name: inner.read(name) for name in inner.namelist()}
    manifest["sha256"] = _checksum(manifest, parts)
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    with (
        replacing(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as out,
    ):
        out.writestr(_ENTRY, text)
        for name, part in parts.items():
            out.writestr(name, part)


def _checksum(manifest: dict[str, Any], parts: dict[str, bytes]) -> str:
    """SHA-256 over the manifest without its checksum, and all other entries."""
    rest = {key: value for key, value in manifest.items() if key != "sha256"}
    digest = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    for name in sorted(parts):
        inner = hashlib.sha256(parts[name]).hexdigest()
        digest.update(f"{name}\0{inner}\n".encode())
    return digest.hexdigest()


def load_model(path: Path) -> SavedModel:
    """Read a model file, or raise an error of one line.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    SavedModel
        Ready to predict.
    """
    parts = _open(path)
    if _ENTRY not in parts:
        what = "a skops file" if "schema.json" in parts else "a zip archive"
        raise UserError(f"{path} is {what}, but no model of kin's. {_REMEDY}")
    manifest = _read_manifest(path, parts.pop(_ENTRY))
    if manifest.get("sha256") != _checksum(manifest, parts):
        raise UserError(
            f"{path} was changed after it was saved (its checksum is wrong). {_REMEDY}"
        )
    wrong = [k for k, t in _FIELDS.items() if not isinstance(manifest.get(k), t)]
    if wrong:
        raise UserError(f"{path} lacks {listed(wrong)} in its manifest. {_REMEDY}")
    return SavedModel(_build(path, parts), manifest)


def _open(path: Path) -> dict[str, bytes]:
    if path.is_dir():
        raise UserError(f"{path} is a folder. Name a model file.")
    try:
        with zipfile.ZipFile(path) as archive:
            twice = len(archive.namelist()) != len(set(archive.namelist()))
            parts = {name: archive.read(name) for name in archive.namelist()}
    except FileNotFoundError as error:
        raise UserError(
            f"There is no model file {path}. Make one by `kin fit ... --save {path}`."
        ) from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
    ):
        with open(path, "rb") as stream:
            start = stream.read(4)
        if start.startswith(b"PK"):
            why = "is cut short or damaged"
        else:
            why = "is not a model of kin's. The model comes first, then the data"
        raise UserError(f"{path} {why}. {_REMEDY}") from None
    except OSError as error:
        raise told_by_os(error, path, "read") from error
    if twice:
        raise UserError(f"{path} holds two entries of one name. {_REMEDY}")
    return parts


def _read_manifest(path: Path, text: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise UserError(f"{path} has a damaged manifest. {_REMEDY}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise UserError(f"{path} is no model of kin's (unknown format). {_REMEDY}")
    version = manifest.get("format_version")
    if not isinstance(version, int) or version < 1:
        raise UserError(f"{path} has a damaged manifest. {_REMEDY}")
    if version > _VERSION:
        raise UserError(
            f"{path} has format {version}; this kinlearn reads up to {_VERSION}. "
            "Install a newer kinlearn."
        )
    return manifest


def _build(path: Path, parts: dict[str, bytes]) -> Any:
    import skops.io

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as out:
        for name, part in parts.items():
            out.writestr(name, part)
    content = packed.getvalue()
    try:
        strange = sorted(set(skops.io.get_untrusted_types(data=content)) - _TRUSTED)
        if strange:
            raise UserError(
                f"{path} wants to build {listed(strange, 3)}, which no model of kin's "
                "needs. Do not use it, unless you know who made it."
            )
        return skops.io.loads(content, trusted=sorted(_TRUSTED))
    except (KeyError, ValueError, TypeError, AttributeError, ImportError) as error:
        raise UserError(
            f"{path} cannot be read by this version ({one_line(error, 120)}). {_REMEDY}"
        ) from error
