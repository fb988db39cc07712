"""Counts, costs and quantiles by gradient boosting, of tables and of made tasks."""

from functools import partial

from benchmarks.quality.losses import MADE, METRICS, N_DRAWS, TABLES, contenders_of
from benchmarks.quality.protocol import protocol
from benchmarks.quality.splits import draw_of_made_tasks, first_fraction_of_each_task


def _declare(key, title, split, *, independent):
    loss = key.split("-", 1)[0]

    def rows_of(problem, number):
        return split(problem, number)

    rows_of.__doc__ = title
    protocol(
        key,
        problem=f"losses:{key}",
        n_splits=N_DRAWS,
        metrics=METRICS[loss],
        contenders=contenders_of(loss),
        baseline="lightgbm",
        independent=independent,
    )(rows_of)


for _key, (_, _fraction, _title) in TABLES.items():
    _split = partial(first_fraction_of_each_task, fraction=_fraction)
    _percent = f"{_fraction:.0%} of each group train"
    _declare(_key, f"{_title}, {_percent}", _split, independent=False)
for _key, (_, _name) in MADE.items():
    _split = partial(draw_of_made_tasks, name=_name, n_draws=N_DRAWS)
    _declare(_key, f"Made tasks, {_name}, curved", _split, independent=True)
