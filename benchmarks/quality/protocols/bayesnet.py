"""Eleven methods on made tasks: tables 5.5 to 5.7 of Faddoul 2012.

Section 5.1.1: "DS_1 consists of two tasks T_1 and T_2, having three and two labels";
"For both DS_1 and DS_2 we generate 100 examples per class"; DS_3 "consists of five
tasks each having six labels [...] 25 examples are generated per each class in each
task"; "90% of mass concentrated over y and the rest distributed equally over the other
labels".

Section 5.3.1: "5 random shuffles of 5-fold cross validation"; "the algorithm stops at a
certain branch when 80% of the examples are from the same class label"; "For single task
C4.5 and MT-DT we did not use boosting"; "The size of the random forests was to 20 by
CV. However, the number of boosting iterations for stump based methods was set to 10 by
CV. The parameter N-Best was set to 2 x N, where N is the number of tasks and N-Best-
Per-Task was set to 2."

*Silent:* parameters of the random networks, and labels of DS_2. Two generators are
played: that of `make_bayesnet_tasks`, which was set by the column RF (``default``), and
one with six patterns twice as far apart (``apart``), under which AMH comes near its
figure on DS_1. In place of 5 times 5 folds of one set, 20 sets are made, each with as
many training rows as four folds have, and 300 test rows of each class.

*Controls:* what is gained over AMH may be depth, the number of rounds, or sharing.
Trees of two levels for each task alone are as deep as two-task stumps; AMH has 30
rounds too; and the forest of `MultiTaskRandomForestClassifier` is played for each task
alone.
"""

from benchmarks.quality.bayesnet_columns import (
    CONTENDERS,
    DESIGNS,
    GENERATORS,
    N_SETS,
    accuracies,
    rows_of_set,
)
from benchmarks.quality.protocol import Published, protocol

_THESIS = "Faddoul 2012, table {}, 5 times 5 folds"
# column: (mean, T1, T2, ...) of each design
_TABLES = {
    "DS1": (
        "5.5",
        {
            "AMH": (69.57, 71.86, 67.27),
            "C4.5": (87.24, 90.75, 83.74),
            "RF": (87.76, 87.88, 87.64),
            "MTMH NB": (89.44, 90.17, 88.70),
            "MTMH NBPT": (89.54, 90.51, 88.57),
            "MT-DT IG_J": (88.21, 87.97, 88.45),
            "MT-DT IG_U": (89.23, 89.88, 88.58),
            "MT-DT IG_M": (89.57, 90.77, 88.371),
            "MTRF IG_J": (88.24, 88.33, 88.14),
            "MTRF IG_U": (88.10, 87.59, 88.61),
            "MTRF IG_M": (87.97, 87.75, 88.20),
        },
    ),
    "DS2": (
        "5.6",
        {
            "AMH": (68.98, 67.00, 71.00),
            "C4.5": (87.91, 86.22, 89.60),
            "RF": (87.07, 85.16, 89.00),
            "MTMH NB": (88.10, 87.39, 88.82),
            "MTMH NBPT": (88.01, 87.08, 88.94),
            "MT-DT IG_J": (87.59, 86.12, 89.07),
            "MT-DT IG_U": (87.67, 86.078, 89.26),
            "MT-DT IG_M": (88.25, 87.14, 89.36),
            "MTRF IG_J": (86.23, 85.23, 87.22),
            "MTRF IG_U": (86.10, 85.27, 86.96),
            "MTRF IG_M": (86.43, 85.93, 86.93),
        },
    ),
    "DS3": (
        "5.7",
        {
            "AMH": (61.89, 62.72, 67.14, 62.42, 48.83, 68.35),
            "C4.5": (77.19, 78.63, 78.02, 76.91, 76.29, 76.10),
            "RF": (76.82, 78.90, 75.58, 76.34, 75.83, 77.42),
            "MTMH NB": (70.24, 84.37, 83.49, 82.77, 83.36, 17.20),
            "MTMH NBPT": (71.06, 74.15, 68.43, 76.39, 76.43, 59.87),
            "MT-DT IG_J": (79.46, 82.28, 79.00, 80.02, 78.78, 77.24),
            "MT-DT IG_U": (77.93, 81.23, 77.41, 77.71, 77.23, 76.09),
            "MT-DT IG_M": (80.43, 83.33, 79.96, 80.72, 79.20, 78.92),
            "MTRF IG_J": (79.34, 80.51, 80.51, 78.16, 79.89, 77.61),
            "MTRF IG_U": (78.55, 80.81, 77.53, 77.20, 79.72, 77.52),
            "MTRF IG_M": (79.27, 80.84, 78.53, 79.30, 79.92, 77.74),
        },
    ),
}


def _declare(design, generator):
    def split(problem, number):
        return rows_of_set(problem, number, design)

    table, rows = _TABLES[design]
    metrics = accuracies(design)
    names = [metric.name for metric in metrics]
    split.__doc__ = f"Made tasks {design}, generator {generator}."
    protocol(
        f"bayesnet-{design}-{generator}",
        problem=f"bayesnet:{design}-{generator}",
        n_splits=N_SETS,
        metrics=metrics,
        contenders=CONTENDERS,
        baseline="C4.5",
        published=tuple(
            Published(
                name, dict(zip(names, values, strict=True)), _THESIS.format(table)
            )
            for name, values in rows.items()
        ),
        independent=True,
    )(split)


for _design in DESIGNS:
    for _generator in GENERATORS:
        _declare(_design, _generator)
