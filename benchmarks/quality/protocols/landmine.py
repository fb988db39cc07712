"""Landmine detection: 29 fields, few mines."""

from dataclasses import replace

from benchmarks.quality.kin import MORE_PEERS
from benchmarks.quality.kin_ours import FORMS, OURS_ALONE
from benchmarks.quality.metrics import AUC, TASK_AUC
from benchmarks.quality.ours import EXTRA_TREES, GRADIENT_BOOSTING, KIN
from benchmarks.quality.peers import PEERS, SCIKIT_LEGO
from benchmarks.quality.protocol import Published, protocol
from benchmarks.quality.splits import first_fraction_of_each_task

_SIMM = "Simm, Magrans de Abril and Sugiyama 2014, figure 1(b)"


@protocol(
    "landmine-75",
    problem="landmine",
    n_splits=30,
    metrics=(AUC, TASK_AUC),
    contenders=(
        replace(KIN, limits={"auc": 0.800, "task_auc": 0.788}),
        replace(EXTRA_TREES, limits={"auc": 0.795, "task_auc": 0.781}),
        replace(GRADIENT_BOOSTING, limits={"auc": 0.798, "task_auc": 0.783}),
        *OURS_ALONE["both"],
        *OURS_ALONE["classification"],
        *PEERS,
        *FORMS,
        *MORE_PEERS,
        SCIKIT_LEGO,
    ),
    baseline="lightgbm",
    methods=("predict_proba", "decision_function"),
    published=(
        Published(
            "MT-ExtraTrees",
            {"auc": 0.77},
            f"{_SIMM}: over 0.77 for any task split probability in 0.125 to 0.6, "
            "mean of 100 splits",
        ),
        Published(
            "MT-ExtraTrees, its authors' package",
            {"auc": 0.792, "task_auc": 0.779},
            "measured with the R package, 300 trees, K = 9, node size "
            "10 to 30, best of its settings, mean of 10 splits of this kind",
        ),
        Published(
            "ExtraTrees with task indicators",
            {"auc": 0.76},
            f"{_SIMM}: just above 0.76, mean of 100 splits",
        ),
        Published(
            "MultiBoost", {"auc": 0.743}, "the same paper, section 4, mean of 10 splits"
        ),
    ),
)
def landmine_75(problem, number):
    """Landmine, rows of each task permuted, the first 75% train."""
    return first_fraction_of_each_task(problem, number, 0.75)
