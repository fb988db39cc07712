"""What records of transfer and clustering (Al-Stouhi 2013) say: scores and means."""

from pathlib import Path

import numpy as np

from benchmarks.jsonlines import read_records
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.ranks import results_of

__all__ = [
    "BEST",
    "FIXED",
    "best_of",
    "common_splits",
    "f_lambda",
    "mean_of",
    "played",
    "scores_by_size",
    "scores_of",
]

FIXED = ("kinlearn 1.1", "kinlearn 1.2", "kinlearn 1.3")
# The published methods, and who stands for them; of several, the best mean counts.
BEST = {
    "AdaBoost, target": ("AdaBoost, target",),
    "TrAdaBoost": ("kinlearn none",),
    "best fixed cost": FIXED,
    "Dynamic-TrAdaBoost": ("kinlearn dynamic",),
    "AdaBoost, all rows": ("AdaBoost, all rows",),
    "SMOTE, target": ("SMOTE + AdaBoost, target",),
    "SMOTE": ("SMOTE + AdaBoost, target",),
    "SMOTE + AdaBoost": ("SMOTE + AdaBoost, target",),
    "SMOTE, all rows": ("SMOTE + AdaBoost, all rows",),
    "Rare-Transfer": ("kinlearn rare",),
    "ADOS + AdaBoost": ("kinlearn ADOS + AdaBoost",),
    "SMT-NMF": (
        "thesis updates, lambda 0.1",
        "thesis updates, lambda 0.25",
        "thesis updates, lambda 0.5",
        "thesis updates, lambda 1",
    ),
    "best single-task method": (
        "single-task NMF",
        "single-task k-means",
        "single-task N-cut",
    ),
    "best all-task method": ("all-task NMF", "all-task k-means", "all-task N-cut"),
}


def scores_of(protocol, folder, metric=None):
    """Scores of a protocol's contenders by split, those without any left out.

    Parameters
    ----------
    protocol : Protocol
        Whose.
    folder : path-like
        Of the files of records.
    metric : str, default=None
        Its name; None is the protocol's first.

    Returns
    -------
    Results
        As `benchmarks.quality.ranks` has them.
    """
    records = read_records(Path(folder) / f"{protocol.name}.jsonl")
    found = {each.name: each for each in protocol.metrics}
    return results_of(protocol, records, found[metric] if metric else None)


def played(names, folder, metric=None):
    """Protocols that have records, each with its scores."""
    for protocol in PROTOCOLS.select(names):
        found = scores_of(protocol, folder, metric)
        if found.scores:
            yield protocol, found


def common_splits(found, contenders):
    """Splits that all of these have, among those that have any."""
    present = [name for name in contenders if name in found.scores]
    if not present:
        return []
    return sorted(set.intersection(*(set(found.scores[name]) for name in present)))


def mean_of(found, name, splits):
    """Mean of a contender over some splits; None if there is none."""
    if name not in found.scores or not splits:
        return None
    return float(np.mean([found.scores[name][s] for s in splits]))


def best_of(found, method):
    """The contender that stands for a published method, with its mean.

    Parameters
    ----------
    found : Results
        Of a protocol.
    method : str
        A key of `BEST`.

    Returns
    -------
    (str, float, int) or None
        Name, mean and number of splits; None if none of them was played.
    """
    present = [name for name in BEST[method] if name in found.scores]
    splits = common_splits(found, present)
    if not splits:
        return None
    means = {name: mean_of(found, name, splits) for name in present}
    name = max(means, key=means.get)
    return name, means[name], len(splits)


def scores_by_size(protocol, folder, sizes, metric=None):
    """Scores of each contender by size, where the sizes take turns over the splits.

    Parameters
    ----------
    protocol : Protocol
        Whose splits take sizes in turn.
    folder : path-like
        Of the files of records.
    sizes : sequence of int
        In the order of the splits.
    metric : str, default=None
        Its name; None is the protocol's first.

    Returns
    -------
    dict of str to dict of int to list of float
        By contender and size.
    """
    found = scores_of(protocol, folder, metric)
    out = {}
    for name, scores in found.scores.items():
        for split, score in sorted(scores.items()):
            size = sizes[split % len(sizes)]
            out.setdefault(name, {}).setdefault(size, []).append(score)
    return out


def f_lambda(sensitivity, specificity, beta):
    """The thesis's F of sensitivity and specificity, formula 2.19 as it is printed.

    Parameters
    ----------
    sensitivity, specificity : float
        Recalls of the rare and of the common class.
    beta : float
        Above 1 the specificity counts more, below 1 the sensitivity (the text has it
        the other way round).

    Returns
    -------
    float
        0 if both are 0.

    Examples
    --------
    >>> f_lambda(0.5, 0.5, 3.0)
    0.5
    """
    under = specificity + beta**2 * sensitivity
    return (1 + beta**2) * specificity * sensitivity / under if under else 0.0
