"""The Kin estimators against what people use today, on sets of all kinds."""

from functools import partial

from benchmarks.quality.kin import CONTENDERS, LOG_LOSS, MADE, N_DRAWS, REAL_SETS
from benchmarks.quality.metrics import AUC, EXPLAINED_VARIANCE, TASK_AUC
from benchmarks.quality.protocol import protocol
from benchmarks.quality.splits import draw_of_made_tasks, first_fraction_of_each_task


def _half(problem, number):
    return first_fraction_of_each_task(problem, number, 0.5)


def _declare(name, kind, split, title, *, independent=False):
    def rows_of(problem, number):
        return split(problem, number)

    rows_of.__doc__ = title
    classes = kind == "classification"
    protocol(
        f"kin-{name}",
        problem=f"kin:{name}",
        n_splits=N_DRAWS,
        metrics=(AUC, TASK_AUC, LOG_LOSS) if classes else (EXPLAINED_VARIANCE,),
        contenders=CONTENDERS["both"] + CONTENDERS.get(kind, ()),
        baseline="hist-gradient-boosting",
        methods=("predict_proba", "decision_function") if classes else ("predict",),
        independent=independent,
    )(rows_of)


for _name, (_kind, _title) in REAL_SETS.items():
    _declare(_name, _kind, _half, f"{_title}, half of each task trains")
for _key, (_name, _target) in MADE.items():
    _title = f"Made tasks, {_name}, curved"
    _split = partial(draw_of_made_tasks, name=_name, n_draws=N_DRAWS)
    _declare(_key, _target, _split, _title, independent=True)
