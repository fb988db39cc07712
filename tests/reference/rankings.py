"""Rankings of features by plain loops over rows; categories are the values."""

from collections import Counter
from math import log

import numpy as np


def fisher(X, y):
    """(mu+ - mu-)^2 / (s+^2 + s-^2), mean over pairs of classes."""
    classes = sorted(set(y))
    out = []
    for column in X.T:
        scores = []
        for i, one in enumerate(classes):
            for two in classes[:i]:
                p, q = column[y == one], column[y == two]
                scores.append((p.mean() - q.mean()) ** 2 / (p.var() + q.var()))
        out.append(np.mean(scores))
    return np.array(out)


def information(x, y, given=None):
    """I(x; y | given) = sum p(x,v,y) log p(x,v,y) p(v) / (p(x,v) p(v,y))."""
    given = [0] * len(x) if given is None else given
    x, y, given = list(x), list(y), list(given)
    n = len(x)
    xvy, v = Counter(zip(x, given, y, strict=True)), Counter(given)
    xv, vy = Counter(zip(x, given, strict=True)), Counter(zip(given, y, strict=True))
    return sum(
        count / n * log(count * v[b] / (xv[a, b] * vy[b, c]))
        for (a, b, c), count in xvy.items()
    )


def cmim(X, y, k):
    """The first k features by conditional mutual information maximisation."""
    chosen: list[int] = []
    while len(chosen) < k:
        scores = {
            j: min(
                [information(X[:, j], y)]
                + [information(X[:, j], y, X[:, c]) for c in chosen]
            )
            for j in range(X.shape[1])
            if j not in chosen
        }
        chosen.append(max(scores, key=lambda j: (scores[j], -j)))
    return chosen
