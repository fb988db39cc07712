"""Boosting over two-task stumps on MNIST: tables 5.1 to 5.3 of Faddoul 2012."""

from benchmarks.quality.abstaining import (
    CONTENDERS,
    MEAN_ACCURACY,
    N_DRAWS,
    ROUNDS,
    SETS,
    WAYS,
    draw,
)
from benchmarks.quality.protocol import Published, protocol

_THESIS = "Faddoul 2012"
_TABLE_5_3 = {
    5: {"AdaBoost, 100 rounds": 85.29, "MTAA, 500 rounds": 86.63, "MTL": 77.74},
    7: {"AdaBoost, 100 rounds": 87.53, "MTAA, 500 rounds": 88.70, "MTL": 79.16},
    10: {"AdaBoost, 100 rounds": 87.77, "MTAA, 500 rounds": 88.76, "MTL": 75.67},
}
_TABLES_5_1_2 = {
    "MTAA, 100 rounds": 87.12,
    "MTAA, 200 rounds": 88.48,
    "MTAA, 1000 rounds": 88.87,
    "MTAA, 200 rounds, 3 roots of each task": 88.21,
    "MTAA, 200 rounds, 30 roots drawn": 88.49,
}


def _published(rows, tables):
    return tuple(
        Published(name, {"accuracy": value}, f"{_THESIS}, {tables}, mean of 5 draws")
        for name, value in rows.items()
    )


def _declare(n_tasks, way):
    def split(problem, number):
        return draw(problem, number, n_tasks)

    split.__doc__ = f"MNIST, {n_tasks} digits against the rest, {way} draws."
    published = _published(_TABLE_5_3[n_tasks], "table 5.3")
    if n_tasks == 10:
        published += _published(_TABLES_5_1_2, "tables 5.1 and 5.2")
    protocol(
        f"boosting-mnist-{n_tasks}-{way}",
        problem=f"boosting:mnist-{n_tasks}-{way}",
        n_splits=N_DRAWS,
        metrics=(MEAN_ACCURACY,),
        contenders=CONTENDERS + (ROUNDS if n_tasks == 10 else ()),
        baseline="AdaBoost, 100 rounds",
        published=published,
    )(split)


for _n_tasks in SETS:
    for _way in WAYS:
        _declare(_n_tasks, _way)
