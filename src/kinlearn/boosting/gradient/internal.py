"""Many fits on the same bins: what other packages of kinlearn use, and users do not."""

from kinlearn.boosting.gradient._base import have_same_bins
from kinlearn.boosting.gradient._bins import Binned
from kinlearn.boosting.gradient._losses import (
    REGRESSION,
    LogisticLoss,
    MultinomialLoss,
)
from kinlearn.boosting.gradient._rounds import Boosted, Problem, Settings, boost
from kinlearn.boosting.gradient._same_bins import RowsModel, SameBins, predictions_of

__all__ = [
    "REGRESSION",
    "Binned",
    "Boosted",
    "LogisticLoss",
    "MultinomialLoss",
    "Problem",
    "RowsModel",
    "SameBins",
    "Settings",
    "boost",
    "have_same_bins",
    "predictions_of",
]
