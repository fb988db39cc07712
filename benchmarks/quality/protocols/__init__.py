"""The protocols, one file a data set; a new file is imported here."""

from benchmarks.quality.protocols import (
    abstaining,
    bayesnet,
    cai_printed,
    clustering,
    kin,
    landmine,
    losses,
    mtboost,
    rare,
    school,
    simm,
    transfer,
)

__all__ = [
    "abstaining",
    "bayesnet",
    "cai_printed",
    "clustering",
    "kin",
    "landmine",
    "losses",
    "mtboost",
    "rare",
    "school",
    "simm",
    "transfer",
]
