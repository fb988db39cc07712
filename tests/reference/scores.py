"""Metrics written out row by row, from their definitions."""

from itertools import permutations

import numpy as np


def recalls(y_true, y_pred, weight):
    """Recall of each class of y_true, and the weight of its rows."""
    hits, support = {}, {}
    for truth, answer, w in zip(y_true, y_pred, weight, strict=True):
        support[truth] = support.get(truth, 0.0) + w
        hits[truth] = hits.get(truth, 0.0) + w * (truth == answer)
    support = {label: s for label, s in support.items() if s > 0}
    return {label: hits[label] / s for label, s in support.items()}, support


def g_mean(y_true, y_pred, weight):
    recall, _ = recalls(y_true, y_pred, weight)
    if len(recall) < 2:
        return np.nan
    return float(np.prod(list(recall.values()))) ** (1 / len(recall))


def sensitivity_specificity_f(y_true, y_pred, weight, beta=1.0):
    recall, _ = recalls(y_true, y_pred, weight)
    if len(recall) < 2:
        return np.nan
    specificity, sensitivity = (recall[label] for label in sorted(recall))
    if specificity == 0 or sensitivity == 0:
        return 0.0
    return (1 + beta**2) / (1 / specificity + beta**2 / sensitivity)


def rare_class_recall(y_true, y_pred, weight):
    recall, support = recalls(y_true, y_pred, weight)
    if len(recall) < 2:
        return np.nan
    least = min(support.values())
    return recall[max(label for label, s in support.items() if s == least)]


def cost_weighted_error(y_true, y_pred, weight, cost):
    """cost[true][predicted], with a dict for each label."""
    paid = worst = 0.0
    for truth, answer, w in zip(y_true, y_pred, weight, strict=True):
        paid += w * cost[truth][answer]
        worst += w * max(cost[truth].values())
    return paid / worst if worst else np.nan


def clustering_accuracy(y_true, y_pred, weight):
    """Try every matching of clusters to labels; unmatched clusters are wrong."""
    clusters, labels = sorted(set(y_pred)), sorted(set(y_true))
    labels += [None] * len(clusters)
    best = 0.0
    for names in set(permutations(labels, len(clusters))):
        name = dict(zip(clusters, names, strict=True))
        right = [
            w for t, p, w in zip(y_true, y_pred, weight, strict=True) if name[p] == t
        ]
        best = max(best, sum(right))
    return best / sum(weight)


def by_task(score, y_true, y_pred, tasks, weight):
    """A score of each task, by picking its rows."""
    return {
        task: score(y_true[tasks == task], y_pred[tasks == task], weight[tasks == task])
        for task in sorted(set(tasks.tolist()))
    }
