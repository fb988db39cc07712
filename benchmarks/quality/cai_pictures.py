"""Pictures on kernel machines: ``python -m benchmarks.quality.pages`` draws them.

From the records of the protocols ``svm-*``: by how much the error of SVM+MTL is
below that of its rivals, in % of theirs: beside what the thesis has
(``docs/_static/svm-published.svg``), and against controls that the thesis lacks
(``docs/_static/svm-controls.svg``); and the errors of SVM+ with the features that a
selection drops (``docs/_static/svm-privileged.svg``)."""

from functools import partial
from pathlib import Path

import numpy as np

import benchmarks.quality.protocols  # noqa: F401 - declares the protocols
from benchmarks.jsonlines import read_records
from benchmarks.quality import privileged_selection
from benchmarks.quality.cai_tables import (
    CONTROLS,
    OURS,
    PRINTED,
    SEARCHED,
    TITLES,
    pairs,
    results,
    rival_mean,
)
from benchmarks.quality.protocol import PROTOCOLS

PROBLEMS = (
    "svm-table-5-4",
    "svm-table-5-5",
    "svm-table-5-6",
    "svm-nine-ones-15",
    "svm-nine-ones-50",
    "svm-nine-ones-100",
    "svm-costs-made",
    "svm-boston-rad",
    "svm-boston-dis",
    "svm-auto-mpg",
    "svm-heart",
    "svm-heart-costs",
    "svm-ljubljana",
    "svm-wisconsin",
    "svm-hepatitis",
    "svm-landmine-40-first",
    "svm-landmine-80-first",
    "svm-landmine-160-first",
    "svm-landmine-40-random",
    "svm-landmine-80-random",
    "svm-landmine-160-random",
)
_HERE, _THERE, _GREY = "#1b6ca8", "#d1495b", "#c8cacd"
_NAMES = dict(
    zip(
        (*PRINTED, *CONTROLS),
        (
            "one SVM",
            "an SVM for each task",
            "a linear model",
            "a linear model with\na constant per task",
            "one SVM, tasks as features,\nas many tries",
            "an SVM for each task,\nas many tries",
        ),
        strict=True,
    )
)


def published_gain(name, start):
    """The thesis's gain of SVM+MTL over a rival, in %; None where it has none."""
    protocol = PROTOCOLS[name]
    metric = protocol.metrics[0].name
    figures = {each.name: each.values[metric] for each in protocol.published}
    ours = [v for k, v in figures.items() if k in ("SVM+MTL", "SVM+MTL, costs")]
    rivals = [v for k, v in figures.items() if k.startswith(start)]
    if not (ours and rivals):
        return None
    return 100 * (1 - ours[0] / min(rivals))


def gains(names, keys, ours, folder):
    """(gain, low, high) in % of the rival's error, by problem and rival."""
    out = {}
    for name in names:
        found = results(name, folder)
        if ours not in found.scores:
            continue
        for key, interval in pairs(found, ours).items():
            if key in keys:
                scale = 100 / rival_mean(found, ours, key)
                values = (interval.mean, interval.low, interval.high)
                out[name, key] = tuple(scale * value for value in values)
    return out


def _point(ax, value, row, **style):
    """A point, or an arrow at the left edge where it lies beyond."""
    if value < -100:
        ax.plot(-97, row, "<", **style)
    else:
        ax.plot(value, row, "o", **style)


def gains_shown(folder, *, keys, ours):
    """Problems, and gains here and published by problem and rival."""
    found = gains(PROBLEMS, keys, ours, folder)
    names = [name for name in PROBLEMS if any((name, key) in found for key in keys)]
    theirs = {
        key: {name: published_gain(name, key) for name in names}
        for key in keys
        if key in PRINTED
    }
    here = {
        key: {
            name: [round(float(v), 3) for v in found[name, key]]
            for name in names
            if (name, key) in found
        }
        for key in keys
    }
    return {"names": names, "here": here, "theirs": theirs}


def draw(data, path):
    """A panel for each rival; published gains are rings."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "kinlearn"  # the same file from the same figures
    names, keys = data["names"], list(data["here"])
    figure, axes = plt.subplots(
        1,
        len(keys),
        figsize=(3.0 + 2.4 * len(keys), 1.4 + 0.24 * len(names)),
        sharey=True,
        layout="constrained",
    )
    rings = False
    for ax, key in zip(axes, keys, strict=True):
        ax.axvline(0, color=_GREY, lw=1)
        for row, name in enumerate(names):
            if name in data["here"][key]:
                mean, low, high = data["here"][key][name]
                ax.plot([low, high], [row, row], color=_HERE, lw=1.2)
                _point(ax, mean, row, color=_HERE, ms=4.5)
            theirs = data["theirs"].get(key, {}).get(name)
            if theirs is not None:
                rings = True
                _point(ax, theirs, row, mfc="none", mec=_THERE, ms=6.5, mew=1.4)
        ax.set_title(f"against {_NAMES[key]}", fontsize="medium")
        ax.set_xlim(-100, 100)
        ax.set_xlabel("% of its error")
        ax.set_ylim(len(names) - 0.5, -0.5)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    axes[0].set_yticks(range(len(names)), [TITLES[name] for name in names])
    handles = [plt.Line2D([], [], color=_HERE, marker="o", ms=4.5, label="here, 95%")]
    if rings:
        ring = {"mfc": "none", "mec": _THERE, "ms": 6.5, "mew": 1.4}
        handles.append(plt.Line2D([], [], marker="o", ls="", label="published", **ring))
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def errors_of_digits(folder):
    """Errors by ranking and number of kept features: ours by method, and published."""
    records = read_records(Path(folder) / privileged_selection.RECORDS.name)
    return [
        {
            "title": f"{ranking.replace('_', ' ')}, {kept} kept",
            "errors": privileged_selection.drawn(
                records, "digits", ranking, kept
            ).T.tolist(),
            "published": list(published[:2]),
        }
        for (ranking, kept), published in privileged_selection.TABLES["digits"].items()
    ]


def draw_privileged(data, path):
    """Digits: errors by method, one panel for each number of kept features."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "kinlearn"
    methods = privileged_selection.METHODS[:-1]
    figure, axes = plt.subplots(1, len(data), figsize=(10, 2.4), layout="constrained")
    for ax, line in zip(axes, data, strict=True):
        for row, values in enumerate(line["errors"][: len(methods)]):
            color = _HERE if row == 1 else "#8a8d91"
            ax.plot(values, [row] * len(values), ".", color=color, alpha=0.5, ms=5)
            ax.plot(np.mean(values), row, "D", color=color, ms=6)
        ring = {"mfc": "none", "mec": _THERE, "ms": 7, "mew": 1.4}
        ax.plot(line["published"], [0, 1], "o", **ring)
        ax.set_title(line["title"], fontsize="medium")
        ax.set_xlabel("error, %")
        ax.set_ylim(len(methods) - 0.5, -0.5)
        ax.set_yticks(range(len(methods)), methods if ax is axes[0] else [])
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


PICTURES = {  # what a picture shows, and how it is drawn
    "svm-published.svg": (partial(gains_shown, keys=PRINTED, ours=OURS), draw),
    "svm-controls.svg": (
        partial(gains_shown, keys=CONTROLS[1:], ours=SEARCHED),
        draw,
    ),
    "svm-privileged.svg": (errors_of_digits, draw_privileged),
}
