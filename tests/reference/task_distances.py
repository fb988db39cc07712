"""Distances between two samples, written out as their definitions say."""

import math
from itertools import pairwise

import numpy as np


def ks_statistic(a, b):
    """Largest difference of the two distribution functions, at every value."""
    points = sorted([*a, *b])
    return max(
        abs(sum(v <= x for v in a) / len(a) - sum(v <= x for v in b) / len(b))
        for x in points
    )


def wasserstein(a, b):
    """Area between the two distribution functions, step by step."""
    points = sorted({*a, *b})
    area = 0.0
    for left, right in pairwise(points):
        share_a = sum(v <= left for v in a) / len(a)
        share_b = sum(v <= left for v in b) / len(b)
        area += abs(share_a - share_b) * (right - left)
    return area


def weighted_quantile_bins(samples, n_bins):
    """Bins as a function of a number: right-closed, cut at the pooled quantiles.

    Every sample weighs the same. A feature of few values has a bin for each.
    """
    values = sorted({v for sample in samples for v in sample})
    if len(values) <= n_bins:
        edges = values[:-1]
    else:
        edges = []
        for k in range(1, n_bins):
            goal = k / n_bins
            for x in values:
                mass = sum(sum(v <= x for v in s) / len(s) for s in samples)
                if mass / len(samples) >= goal - 1e-9:
                    edges.append(x)
                    break
        edges = sorted(set(edges))
    return lambda v: sum(v > edge for edge in edges), len(edges) + 1


def bin_shares(sample, bin_of, n_bins, smoothing=0.0):
    """Share of the sample in each bin, after adding `smoothing` rows to each."""
    counts = [smoothing + sum(bin_of(v) == k for v in sample) for k in range(n_bins)]
    return [count / sum(counts) for count in counts]


def hellinger(p, q):
    """Hellinger distance of two discrete distributions."""
    return math.sqrt(
        sum((math.sqrt(x) - math.sqrt(y)) ** 2 for x, y in zip(p, q, strict=True)) / 2
    )


def symmetric_kl(p, q):
    """Sum of the two Kullback-Leibler divergences."""
    forth = sum(x * math.log(x / y) for x, y in zip(p, q, strict=True))
    back = sum(y * math.log(y / x) for x, y in zip(p, q, strict=True))
    return forth + back


def directed_kl(p, q):
    """What is lost when q stands in for p."""
    return sum(x * math.log(x / y) for x, y in zip(p, q, strict=True))


def mutual_information(p, q):
    """I(value; which of the two), both being as likely, in bits."""
    joint = {(k, t): s[k] / 2 for t, s in enumerate((p, q)) for k in range(len(p))}
    value = [joint[k, 0] + joint[k, 1] for k in range(len(p))]
    return sum(
        both * math.log2(both / (value[k] * 0.5))
        for (k, _), both in joint.items()
        if both > 0
    )


def logdet(A, B):
    """Mean of both LogDet divergences of covariance matrices."""

    def one_way(P, Q):
        ratio = P @ np.linalg.inv(Q)
        return np.trace(ratio) - np.log(np.linalg.det(ratio)) - len(P)

    return (one_way(A, B) + one_way(B, A)) / 2


def squared_mmd(A, B, gamma, *, biased):
    """The double sums of Gretton et al. (2012), equations 3 and 5."""

    def k(x, z):
        return math.exp(-gamma * float(np.sum((x - z) ** 2)))

    def within(S):
        m = len(S)
        total = sum(
            k(S[i], S[j]) for i in range(m) for j in range(m) if biased or i != j
        )
        return total / (m * m if biased else m * (m - 1))

    between = sum(k(x, z) for x in A for z in B) / (len(A) * len(B))
    return within(A) + within(B) - 2 * between
