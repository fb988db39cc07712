"""Figures of merit, by scikit-learn: the library does not judge itself."""

import numpy as np

from benchmarks.quality.protocol import Metric

__all__ = ["AUC", "EXPLAINED_VARIANCE", "TASK_AUC"]


def _auc(y, prediction, task):
    from sklearn.metrics import roc_auc_score

    return roc_auc_score(y, prediction)


def _mean_task_auc(y, prediction, task):
    """Mean over the tasks that have both classes among the test rows."""
    aucs = []
    for t in np.unique(task):
        rows = task == t
        if len(np.unique(y[rows])) == 2:
            aucs.append(_auc(y[rows], prediction[rows], task[rows]))
    return np.mean(aucs)


def _explained_variance(y, prediction, task):
    """Share of the test rows' variance: one minus squared error over variance."""
    from sklearn.metrics import r2_score

    return r2_score(y, prediction)


AUC = Metric("auc", "AUC, all rows", _auc)
TASK_AUC = Metric("task_auc", "AUC, mean of tasks", _mean_task_auc)
EXPLAINED_VARIANCE = Metric(
    "explained_variance", "explained variance", _explained_variance
)
