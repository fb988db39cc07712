"""The cases, one file an area; a new file is imported here."""

from benchmarks.speed.cases import (
    boosting_gradient,
    boosting_mtboost,
    boosting_stumps,
    cluster,
    imports,
    linear_mixed,
    linear_penalties,
    relatedness,
    sharing_kin,
    svm,
    svm_plus,
    tasks,
    transfer,
    trees,
    utils,
)

__all__ = [
    "boosting_gradient",
    "boosting_mtboost",
    "boosting_stumps",
    "cluster",
    "imports",
    "linear_mixed",
    "linear_penalties",
    "relatedness",
    "sharing_kin",
    "svm",
    "svm_plus",
    "tasks",
    "transfer",
    "trees",
    "utils",
]
