"""A small made-up example with named groups, for demonstrations and first tries."""

from typing import Literal

import numpy as np
from sklearn.utils import Bunch

from kinlearn.datasets._assemble import Loaded, to_bunch
from kinlearn.datasets._checks import as_option

__all__ = ["load_demo"]

# name, number of patients
_CLINICS = (
    ("Alder", 320),
    ("Birch", 260),
    ("Cedar", 200),
    ("Elm", 180),
    ("Hazel", 170),
    ("Juniper", 240),
    ("Larch", 240),
    ("Maple", 160),
    ("Oak", 150),
    ("Willow", 140),
)
_DIFFERENT = "Juniper"
_REVERSED = "Larch"

# name, mean, standard deviation, decimals, effect in eight clinics, in Juniper;
# for the last three, which are yes or no, the mean is the fraction of yes
_FEATURES = (
    ("age", 79.0, 8.0, 0, 4.0, 0.0),
    ("grip_strength", 22.0, 6.0, 1, -4.0, 0.0),
    ("therapy_hours", 7.0, 2.5, 1, 4.0, 0.0),
    ("haemoglobin", 12.1, 1.6, 1, -1.6, 0.0),
    ("hours_to_surgery", 26.0, 10.0, 0, 1.6, -2.4),
    ("medications", 6.5, 2.5, 0, 1.6, 2.4),
    ("lives_alone", 0.40, None, 0, 1.6, -2.0),
    ("dementia", 0.25, None, 0, 1.6, -1.6),
    ("replaced", 0.50, None, 0, 0.0, 0.0),
)
# A linear model cannot represent this, and a tree needs many patients to find it.
_TURN_IF_REPLACED = ("age", "grip_strength", "therapy_hours")

_DESCR = """\
Recovery after hip surgery: a demonstration
-------------------------------------------
Generated, not collected; no clinic or patient of this set exists.

{rows} patients of 10 clinics after a broken hip, 9 columns known soon after surgery.
Target: {target}.

A hip is pinned or replaced, and what is good for the one is bad for the other. Young
and strong patients do well with a pin, old and weak ones with a new joint; exercise
in the first weeks loosens a pin and frees a joint. Eight clinics share this, each a
little in its own way. None of them has the patients to learn it well by itself, least
of all the smallest, with 140. Two stand apart:

- Juniper is a rehabilitation centre with other patients: age, strength and exercise do
  not matter. Who lives alone or waited long is admitted only if otherwise well, so
  that this speaks for a patient.
- Larch {reversal}: what points to a
  good recovery elsewhere points to a bad one there.

So a model for all clinics together serves the small ones and fails Juniper and
Larch; a model for each clinic alone does the reverse. `truth.role` names the
role of each clinic, `truth.coef` gives the effects of the standardised columns after
pinning; those of `age`, `grip_strength` and `therapy_hours` turn round if the hip was
replaced.
"""
_TARGETS = {
    "classification": (
        "readmitted",
        "`readmitted`, 1 if the patient is back in hospital within a year",
        'fills in the form the wrong way round (1 for "stayed at home")',
    ),
    "regression": (
        "recovery_score",
        "`recovery_score`, 0 to 100, higher is better, 90 days after surgery",
        "reports how much care is needed instead (100 minus the score)",
    ),
}


def _draw_features(n: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Columns as a clinic would record them, and the same standardised."""
    X, Z = np.empty((n, len(_FEATURES))), np.empty((n, len(_FEATURES)))
    for j, (_, mean, spread, decimals, _, _) in enumerate(_FEATURES):
        if spread is None:
            X[:, j] = rng.random_sample(n) < mean
            Z[:, j] = (X[:, j] - mean) / np.sqrt(mean * (1.0 - mean))
        else:
            values = mean + spread * rng.standard_normal(n)
            floor = max(mean - 2.5 * spread, 0.0)
            X[:, j] = np.round(np.maximum(values, floor), decimals)
            Z[:, j] = (X[:, j] - mean) / spread
    return X, Z


def _effects(rng: np.random.RandomState) -> tuple[np.ndarray, list[str]]:
    """Effect of every standardised column in every clinic, and their roles."""
    common = np.array([feature[4] for feature in _FEATURES])
    different = np.array([feature[5] for feature in _FEATURES])
    coef = common + 0.2 * rng.standard_normal((len(_CLINICS), len(common)))
    role = []
    for c, (name, _) in enumerate(_CLINICS):
        if name == _DIFFERENT:
            coef[c] = different
        elif name == _REVERSED:
            coef[c] = -coef[c]
        role.append({_DIFFERENT: "different", _REVERSED: "reversed"}.get(name, "alike"))
    return coef, role


def _risk(X: np.ndarray, Z: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Sum of the effects, of which three turn round if the hip was replaced."""
    names = [feature[0] for feature in _FEATURES]
    replaced = X[:, [names.index("replaced")]] == 1
    turns = np.isin(names, _TURN_IF_REPLACED)
    return (np.where(replaced & turns, -Z, Z) * coef).sum(axis=1)


def load_demo(
    kind: Literal["classification", "regression"] = "classification",
    *,
    as_frame: bool | None = None,
    return_X_y: bool = False,
) -> Loaded:
    """Load a small made-up data set of 10 named clinics.

    Eight clinics are alike, most of them with few patients; one is different, and
    one records its outcome the wrong way round. Does sharing help here, and who
    is hurt by it? Every call gives the same data.

    Parameters
    ----------
    kind : {"classification", "regression"}, default="classification"
        Predict whether a patient is readmitted, or a recovery score.
    as_frame : bool, default=None
        Whether the data is a pandas frame with the clinic by name, or an array
        with its number as the last column. None: a frame if pandas is
        installed.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.

    Returns
    -------
    Bunch
        ``data`` (2060 rows, 9 features and the clinic), ``target``, ``frame``
        (both, or None), ``feature_names``, ``target_names``, ``task`` (what to
        pass as ``task=``: ``"clinic"`` or -1), ``task_names``, ``truth``
        (``role`` and ``coef`` of each clinic) and ``DESCR``.
    (data, target) : tuple
        If ``return_X_y=True``.

    Examples
    --------
    >>> from kinlearn.datasets import load_demo
    >>> demo = load_demo()
    >>> demo.data.shape, demo.task
    ((2060, 10), 'clinic')
    >>> demo.data.groupby("clinic").size().loc[["Alder", "Juniper", "Willow"]].tolist()
    [320, 240, 140]
    """
    as_option(kind, "kind", tuple(_TARGETS))
    if as_frame is None:
        as_frame = _has_pandas()
    rng = np.random.RandomState(1)
    coef, role = _effects(rng)
    task = np.repeat(np.arange(len(_CLINICS)), [n for _, n in _CLINICS])
    task = rng.permutation(task)
    X, Z = _draw_features(len(task), rng)
    risk = _risk(X, Z, coef[task])
    if kind == "classification":
        level = np.where(np.array(role)[task] == "reversed", 1.0, -1.0)
        y = (risk + level + rng.logistic(size=len(task)) > 0).astype(np.int64)
        target_names = ["no", "yes"]
    else:
        level = np.where(np.array(role)[task] == "reversed", 45.0, 55.0)
        y = np.round(level - 2.2 * risk + 6.0 * rng.standard_normal(len(task)), 1)
        y = np.clip(y, 0.0, 100.0)
        target_names = None
    target_name, target, reversal = _TARGETS[kind]
    names = [name for name, _ in _CLINICS]
    return to_bunch(
        X,
        y,
        descr=_DESCR.format(rows=len(task), target=target, reversal=reversal),
        feature_names=[feature[0] for feature in _FEATURES],
        task=task,
        task_names=names,
        task_name="clinic",
        target_name=target_name,
        target_names=target_names,
        as_frame=as_frame,
        return_X_y=return_X_y,
        truth=Bunch(role=role, coef=coef),
    )


def _has_pandas() -> bool:
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True
