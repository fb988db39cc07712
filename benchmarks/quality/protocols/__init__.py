"""The protocols, one file a data set; a new file is imported here."""

from benchmarks.quality.protocols import (
    abstaining,
    clustering,
    kin,
    landmine,
    losses,
    mtboost,
    school,
    svm,
    transfer,
)

__all__ = [
    "abstaining",
    "clustering",
    "kin",
    "landmine",
    "losses",
    "mtboost",
    "school",
    "svm",
    "transfer",
]
