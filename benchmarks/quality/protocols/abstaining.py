"""Boosting over two-task stumps on MNIST: tables 5.1 to 5.3 of Faddoul 2012.

Section 5.1.2: "digits {6, 7, 8, 9, 0}, {4, 5, 6, 7, 8, 9, 0} and {1, ..., 9, 0} for the
5-task, 7-task and 10-task problems, respectively. Every task is a binary classification
task"; "we draw 5 learning sets whose size is recalled in the tables"; "the average
accuracy results over the 5-random runs where the accuracy is estimated on the fixed
test set". Sizes: 25, 70 and 100 rows a task (150, 210 and 300 for zero), 4,949, 6,823
and 10,000 test rows, which are those of the digits named.

Section 5.2.3: "For Adaboost, we fix the number of boosting iterations to be T = 100.
For MTAA [...] T = 500 and, as before we choose the weak learner WL-Best-K with K set to
30. For the initial distribution of Adaboost, we balance the probability mass between
classes"; "For MTAA [...] between each pair (task, class)".

*Silent:* how the rows of a task were drawn. Played: half of them of the digit
(``half``), a third (``third``), as many as printed of the digit and as many of the rest
(``both``), at random (``random``); the rest is of the digits named. Rows are drawn anew
for each task, so that draws hardly share any: they count as independent. Which way the
22 figures by task speak for is asked of the records.

*Controls:* trees of two levels for each task alone are as deep as two-task stumps, and
share nothing; MTAA of one level boosts the tasks together, and shares nothing.
"""

from benchmarks.quality.abstaining import (
    CONTENDERS,
    N_DRAWS,
    ROUNDS,
    SETS,
    WAYS,
    accuracies,
    draw,
)
from benchmarks.quality.protocol import Published, protocol

_THESIS = "Faddoul 2012, table {}, mean of 5 draws"
_ADABOOST, _MTAA = "AdaBoost, 100 rounds", "MTAA, 500 rounds"
# by number of tasks and method: the mean, then each digit
_TABLE_5_3 = {
    5: {
        _ADABOOST: (85.29, 89.84, 85.25, 81.73, 73.215, 96.43),
        _MTAA: (86.63, 91.56, 83.35, 84.11, 76.85, 97.29),
        "MTL": (77.74, 83.86, 72.84, 66.77, 67.26, 96.60),
    },
    7: {
        _ADABOOST: (87.53, 86.11, 83.99, 92.23, 87.97, 88.32, 78.09, 96.00),
        _MTAA: (88.70, 87.52, 86.26, 93.02, 90.05, 87.63, 80.31, 96.12),
        "MTL": (79.16, 73.49, 70.10, 87.21, 84.02, 76.97, 65.74, 96.56),
    },
    10: {
        _ADABOOST: (
            87.77, 94.62, 85.72, 85.71, 88.31, 82.34, 91.28, 90.20, 81.66, 81.42, 96.85,
        ),
        _MTAA: (
            88.76, 96.43, 85.33, 85.09, 88.24, 81.04, 94.06, 90.27, 85.10, 86.49, 95.58,
        ),
        "MTL": (
            75.67, 96.80, 69.95, 74.18, 71.76, 57.26, 80.54, 77.18, 65.85, 65.38, 97.81,
        ),
    },
}  # fmt: skip
_TABLES_5_1_2 = {
    "MTAA, 100 rounds": (
        87.12, 93.75, 86.21, 81.50, 87.45, 81.33, 92.29, 88.67, 81.88, 83.10, 94.98,
    ),
    "MTAA, 200 rounds": (
        88.48, 94.15, 86.45, 84.60, 88.02, 83.36, 92.86, 91.98, 82.66, 84.27, 96.44,
    ),
    "MTAA, 1000 rounds": (
        88.87, 96.24, 84.52, 85.39, 88.75, 82.20, 94.14, 90.29, 85.13, 86.47, 95.57,
    ),
    "MTAA, 200 rounds, 3 roots of each task": (
        88.21, 94.73, 86.01, 86.71, 86.19, 81.84, 92.92, 91.62, 80.73, 84.80, 96.55,
    ),
    "MTAA, 200 rounds, 30 roots drawn": (
        88.49, 93.95, 86.52, 86.94, 85.79, 84.01, 93.21, 90.11, 83.98, 84.56, 95.78,
    ),
}  # fmt: skip


def _published(rows, table, metrics):
    names = [metric.name for metric in metrics]
    return tuple(
        Published(name, dict(zip(names, values, strict=True)), _THESIS.format(table))
        for name, values in rows.items()
    )


def _declare(n_tasks, way):
    def split(problem, number):
        return draw(problem, number, n_tasks, way)

    split.__doc__ = f"MNIST, {n_tasks} digits against the rest, {way} draws."
    metrics = accuracies(n_tasks)
    published = _published(_TABLE_5_3[n_tasks], "5.3", metrics)
    if n_tasks == 10:
        published += _published(_TABLES_5_1_2, "5.1 or 5.2", metrics)
    protocol(
        f"boosting-mnist-{n_tasks}-{way}",
        problem=f"boosting:mnist-{n_tasks}-{way}",
        n_splits=N_DRAWS,
        metrics=metrics,
        contenders=CONTENDERS + (ROUNDS if n_tasks == 10 else ()),
        baseline=_ADABOOST,
        published=published,
        independent=True,
    )(split)


for _n_tasks in SETS:
    for _way in WAYS:
        _declare(_n_tasks, _way)
