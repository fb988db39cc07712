"""Figures of merit, by scikit-learn: the library does not judge itself."""

import numpy as np

from benchmarks.quality.protocol import Metric

__all__ = [
    "AUC",
    "EXPLAINED_VARIANCE",
    "ONE_NAMING_ACCURACY",
    "TASK_AUC",
    "TASK_CLUSTERING_ACCURACY",
    "TASK_NMI",
]


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


def _mean_task_clustering_accuracy(y, prediction, task):
    """Percent of rows in the right cluster, matched anew in each task."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics.cluster import contingency_matrix

    accuracies = []
    for t in np.unique(task):
        table = contingency_matrix(y[task == t], prediction[task == t])
        matched = linear_sum_assignment(table, maximize=True)
        accuracies.append(100 * table[matched].sum() / table.sum())
    return np.mean(accuracies)


def _one_naming_accuracy(y, prediction, task):
    """The same with one matching of clusters to classes for all tasks."""
    return _mean_task_clustering_accuracy(y, prediction, np.zeros_like(task))


def _mean_task_nmi(y, prediction, task):
    from sklearn.metrics import normalized_mutual_info_score

    tasks = np.unique(task)
    return np.mean(
        [
            normalized_mutual_info_score(y[task == t], prediction[task == t])
            for t in tasks
        ]
    )


AUC = Metric("auc", "AUC, all rows", _auc)
TASK_AUC = Metric("task_auc", "AUC, mean of tasks", _mean_task_auc)
EXPLAINED_VARIANCE = Metric(
    "explained_variance", "explained variance", _explained_variance
)
TASK_CLUSTERING_ACCURACY = Metric(
    "accuracy", "accuracy %, mean of tasks", _mean_task_clustering_accuracy, digits=1
)
ONE_NAMING_ACCURACY = Metric(
    "one_naming", "accuracy %, one naming for all", _one_naming_accuracy, digits=1
)
TASK_NMI = Metric("nmi", "NMI, mean of tasks", _mean_task_nmi, digits=3)
