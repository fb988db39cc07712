"""The protocols, one file a data set; a new file is imported here."""

from benchmarks.quality.protocols import (
    abstaining,
    al_stouhi_printed,
    bayesnet,
    cai_printed,
    clustering,
    kin,
    landmine,
    losses,
    mtboost,
    school,
    simm,
    svm,
    transfer,
)

__all__ = [
    "abstaining",
    "al_stouhi_printed",
    "bayesnet",
    "cai_printed",
    "clustering",
    "kin",
    "landmine",
    "losses",
    "mtboost",
    "school",
    "simm",
    "svm",
    "transfer",
]
