"""The Kin estimators against what people use today, on sets of all kinds."""

import numpy as np

from benchmarks.quality.kin import CONTENDERS, LOG_LOSS, MADE, REAL_SETS
from benchmarks.quality.kin_suite import KINDS
from benchmarks.quality.metrics import AUC, EXPLAINED_VARIANCE, TASK_AUC
from benchmarks.quality.protocol import protocol
from benchmarks.quality.splits import first_share_of_each_task


def _half(problem, number):
    return first_share_of_each_task(problem, number, 0.5)


def _as_many_rows(name):
    """As many rows of each task as its kind says, drawn anew in each split."""

    def split(problem, number):
        rng = np.random.default_rng(number)
        train = np.concatenate(
            [
                rng.permutation(np.flatnonzero(problem.task == t))[:size]
                for t, size in enumerate(KINDS[name][0])
            ]
        )
        return train, np.setdiff1d(np.arange(len(problem.y)), train)

    return split


def _declare(name, kind, split, title):
    def rows_of(problem, number):
        return split(problem, number)

    rows_of.__doc__ = title
    classes = kind == "classification"
    protocol(
        f"kin-{name}",
        problem=f"kin:{name}",
        n_splits=10,
        metrics=(AUC, TASK_AUC, LOG_LOSS) if classes else (EXPLAINED_VARIANCE,),
        contenders=CONTENDERS["both"] + CONTENDERS.get(kind, ()),
        baseline="hist-gradient-boosting",
        methods=("predict_proba", "decision_function") if classes else ("predict",),
    )(rows_of)


for _name, (_kind, _title) in REAL_SETS.items():
    _declare(_name, _kind, _half, f"{_title}, half of each task trains")
for _key, (_name, _target) in MADE.items():
    _declare(_key, _target, _as_many_rows(_name), f"Made tasks, {_name}, curved")
