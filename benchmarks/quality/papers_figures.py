"""Pictures of the pages on trees and boosting: of records, formulas and made labels.

``python -m benchmarks.quality.pages`` draws them. Each function here gives an SVG.
"""

import numpy as np

from benchmarks.quality.charts import COLORS, Curve, Curves, Points, draw
from benchmarks.quality.papers_tables import scores_of, short
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.protocols.simm import (
    ALONE,
    ONE_HOT,
    OURS,
    PERCENTAGES,
    POOLED,
    PROBABILITIES,
    VARYING,
)


def _summary(values):
    """Mean and standard error of the scores by split."""
    values = list(values.values())
    if len(values) < 2:
        return (float(np.mean(values)) if values else np.nan), 0.0
    return float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5)


# --------------------------------------------- figure 1 of Simm and others 2014


def extra_trees(folder):
    """Figures 1(a) to 1(c): landmine by rows and by probability, school.

    Parameters
    ----------
    folder : path-like
        Of the files of records.

    Returns
    -------
    str
        The picture, as for all of these functions.
    """
    landmine = {
        p: scores_of(PROTOCOLS[f"simm-landmine-{p}"], folder).scores
        for p in PERCENTAGES
    }
    school = scores_of(PROTOCOLS["simm-school"], folder).scores
    ours = [f"{OURS} {p:g}" for p in PROBABILITIES]
    shown = [ALONE, POOLED, ONE_HOT, *ours[1:]]
    by_rows = []
    for name, color in zip(shown, ("#999999", *COLORS), strict=True):
        points = [
            (percent, *_summary(found[name]))
            for percent, found in landmine.items()
            if name in found
        ]
        if points:
            x, y, bars = zip(*points, strict=True)
            dashed = name in (ALONE, POOLED, ONE_HOT)
            by_rows.append(Curve(_legend(name), x, y, bars, color, dashed))
    return draw(
        [
            Curves(
                "1(a) Landmine, by rows that train",
                "% of the rows of each field",
                "area under the ROC curve",
                (10, 20, 30, 40, 50, 60, 70, 80),
                (0.66, 0.68, 0.70, 0.72, 0.74, 0.76, 0.78),
                by_rows,
            ),
            Curves(
                "1(b) Landmine, 75% train",
                "task split probability",
                "area under the ROC curve",
                (0, 0.25, 0.5, 0.75, 1),
                (0.74, 0.75, 0.76, 0.77, 0.78),
                [
                    _by_probability(landmine[75], ours),
                    *_levels(landmine[75], (ONE_HOT, ALONE)),
                    Curve(
                        "published: above it from 0.125 to 0.6",
                        (0.125, 0.6),
                        (0.77, 0.77),
                        color="#333",
                        dashed=True,
                    ),
                ],
            ),
            Curves(
                "1(c) School, 75% train",
                "task split probability",
                "explained variance",
                (0, 0.25, 0.5, 0.75, 1),
                (0.31, 0.33, 0.35, 0.37, 0.39),
                [
                    _by_probability(school, ours),
                    *_levels(school, (ONE_HOT, VARYING)),
                    Curve(
                        "published best", (0, 1), (0.38, 0.38), (), "#333", dashed=True
                    ),
                ],
            ),
        ],
        columns=3,
    )


def _legend(name):
    return short(name).replace("task split probability", "multi-task, probability")


def _by_probability(scores, names):
    points = [
        (p, *_summary(scores[name]))
        for p, name in zip(PROBABILITIES, names, strict=True)
        if name in scores
    ]
    x, y, bars = zip(*points, strict=True)
    return Curve("multi-task extra trees", x, y, bars)


def _levels(scores, names):
    """Contenders without a probability, as level lines."""
    for name, color in zip(names, COLORS[1:], strict=False):
        if name in scores:
            mean, _ = _summary(scores[name])
            yield Curve(short(name), (0, 1), (mean, mean), (), color, dashed=True)


# ---------------------------------------------------------------- rows of points

_SHARE, _ALONE, _PEER = COLORS[0], COLORS[1], COLORS[6]


def _points(name, folder, title, ticks, shown, label):
    """One row for each contender, with the published figure of the same name."""
    protocol = PROTOCOLS[name]
    scores = scores_of(protocol, folder).scores
    metric = protocol.metrics[0].name
    rows = []
    for contender, (printed, color) in shown.items():
        if contender in scores:
            values = [p.values[metric] for p in protocol.published if p.name == printed]
            mean, error = _summary(scores[contender])
            ring = values[0] if values else None
            rows.append((short(contender), mean, error, ring, color))
    return Points(title, label, ticks, rows)


_BOOSTERS = {
    "MTBoost, printed form, ridge 0.001": ("MTBoost", _SHARE),
    "alone, printed form, ridge 0.001": ("AnyBoost", _ALONE),
    "MTBoost, printed form, ridge 10": ("MTBoost", _SHARE),
    "alone, printed form, ridge 10": ("AnyBoost", _ALONE),
    "MTBoost, defaults": (None, _SHARE),
    "alone, defaults": (None, _ALONE),
    "MTRL": ("MTRL", _SHARE),
    "logistic, alone": (None, _ALONE),
    "pooled, defaults": (None, _PEER),
    "logistic, pooled": (None, _PEER),
}


def mtboost(folder):
    """Errors on sentiment, letters and USPS; blue shares, red does not."""
    label = "error, mean of tasks"
    far = {k: v for k, v in _BOOSTERS.items() if "pooled" not in k}
    ticks = (0.16, 0.18, 0.2, 0.22, 0.24)
    return draw(
        [
            _points("mtboost-letters-balanced", folder, "Letters, table 4",
                    (0.06, 0.08, 0.1, 0.12, 0.14, 0.16), far, label),
            _points("mtboost-usps", folder, "USPS, table 5",
                    (0, 0.02, 0.04, 0.06), far, label),
            _points("mtboost-sentiment", folder, "Sentiment, table 2", ticks,
                    _BOOSTERS, label),
        ]
    )  # fmt: skip


_COLUMNS = {
    **{name: (name, _ALONE) for name in ("AMH", "C4.5", "RF")},
    **{
        name: (name, _SHARE)
        for name in ("MTMH NB", "MTMH NBPT", "MT-DT IG_J", "MT-DT IG_U", "MT-DT IG_M",
                     "MTRF IG_J", "MTRF IG_U", "MTRF IG_M")
    },
    "two levels, each task alone": (None, _PEER),
    "AMH, 30 rounds": (None, _PEER),
    "MTRF, each task alone": (None, _PEER),
}  # fmt: skip


def made_tasks(folder):
    """DS1 to DS3: published columns beside ours; grey are controls without sharing."""
    label = "accuracy %, mean of tasks"
    return draw(
        [
            _points(f"bayesnet-{design}-{generator}", folder,
                    f"{design}, generator {generator}", (60, 70, 80, 90), _COLUMNS,
                    label)
            for design, generator in (("DS1", "apart"), ("DS1", "default"),
                                      ("DS2", "apart"), ("DS3", "apart"))
        ]
    )  # fmt: skip


# --------------------------------------- figures 4.1 and 4.2 of Faddoul 2012


def training_bound(folder=None):
    """Products of the normalizers by both ways to weigh an abstention.

    Edges are drawn evenly from the smallest, 0.05, to the largest that the weight of
    abstention allows. The thesis does not say how it drew them.
    """
    rounds = np.arange(51)
    panels = []
    for abstained in (0.2, 0.9):
        edge = np.random.default_rng(0).uniform(0.05, 1 - abstained, (5, 50))
        right = (1 - abstained + edge) / 2
        wrong = right - edge
        both = {
            "optimal (theorem 4.2)": abstained + 2 * np.sqrt(right * wrong),
            "conservative (theorem 4.3)": 2
            * np.sqrt((right + abstained / 2) * (wrong + abstained / 2)),
        }
        curves = [
            Curve(
                name if number == 0 else "",
                rounds,
                np.concatenate([[1.0], np.cumprod(found)])[rounds],
                (),
                color,
            )
            for (name, z), color in zip(both.items(), COLORS, strict=False)
            for number, found in enumerate(z)
        ]
        bound = np.exp(-rounds * 0.05**2 / 2)
        bound = Curve("their bound", rounds, bound, (), "#333", dashed=True)
        panels.append(
            Curves(
                f"Abstained weight {abstained:g}",
                "rounds",
                "bound of the training error",
                (0, 10, 20, 30, 40, 50),
                (0, 0.2, 0.4, 0.6, 0.8, 1),
                [*curves, bound],
            )
        )
    return draw(panels)


_N_ROWS, _N_RUNS = 200, 100


def _entropy(codes, n_codes):
    part = np.bincount(codes, minlength=n_codes) / max(len(codes), 1)
    part = part[part > 0]
    return float(-(part * np.log2(part)).sum())


def _gain(codes, left):
    n_codes, rest = int(codes.max()) + 1, ~left
    after = left.mean() * _entropy(codes[left], n_codes)
    after += rest.mean() * _entropy(codes[rest], n_codes)
    return _entropy(codes, n_codes) - after


def _labels(rng, kind):
    """Labels of 2 to 20 kinds that have nothing to do with the attribute."""
    n = int(rng.integers(2, 21))
    if kind == "uniform":
        return rng.integers(n, size=_N_ROWS)
    if kind == "Poisson":
        return np.minimum(rng.poisson(1.0, _N_ROWS), n - 1)
    place = (rng.standard_normal(_N_ROWS) + 3) / 6 * n
    return np.clip(place.astype(int), 0, n - 1)


def criteria_ratios():
    """IG_M and IG_U over IG_J on made two-task data, by distributions of the labels.

    Returns
    -------
    dict
        Pair of distributions : array (runs, 2) of both ratios.
    """
    kinds = ("uniform", "normal", "Poisson")
    out = {}
    for i, first in enumerate(kinds):
        for second in kinds[i:]:
            rng = np.random.default_rng(0)
            found = []
            for _ in range(_N_RUNS):
                a, b = _labels(rng, first), _labels(rng, second)
                x = rng.random(2 * _N_ROWS)
                left = x < rng.uniform(0.1, 0.9)
                own = (_gain(a, left[:_N_ROWS]), _gain(b, left[_N_ROWS:]))
                # by the theorem, not the definition: the mean over the rows
                joint = sum(own) / 2
                found.append((max(own) / joint, sum(own) / joint))
            out[first, second] = np.array(found)
    return out


def criteria(folder=None):
    """Figure 4.2: how much larger the largest gain is than the joint one."""
    rows = []
    for (first, second), ratios in criteria_ratios().items():
        low, median, high = np.percentile(ratios[:, 0], (25, 50, 75))
        rows.append((f"{first}, {second}", median, (high - low) / 2, None, _SHARE))
    label = "IG_M / IG_J: median, half the distance of the quartiles"
    return draw([Points("Labels of two tasks, at random", label,
                        (1, 1.2, 1.4, 1.6, 1.8, 2), rows, 110)])  # fmt: skip


def _write(text, path):
    path.write_text(text, encoding="utf-8")


PICTURES = {  # what a picture shows, and how it is drawn
    "extra-trees-figure-1.svg": (extra_trees, _write),
    "mtboost-errors.svg": (mtboost, _write),
    "boosting-made-tasks.svg": (made_tasks, _write),
    "boosting-training-bound.svg": (training_bound, _write),
    "boosting-criteria.svg": (criteria, _write),
}
