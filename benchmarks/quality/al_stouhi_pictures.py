"""Pictures of transfer, rare classes and clustering: drawn from records, as the tables.

``python -m benchmarks.quality.pages`` draws them.
"""

from functools import partial

import numpy as np

import benchmarks.quality.protocols  # noqa: F401 - declares the protocols
from benchmarks.problems import load
from benchmarks.quality.al_stouhi_scores import f_lambda, scores_by_size, scores_of
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.protocols.rare import CURVE_SIZES
from benchmarks.quality.protocols.transfer import NEWS, RATIOS
from benchmarks.quality.transfer_weights import ERRORS, kept, two_labels

__all__ = ["PICTURES"]

_COLOURS = ("#8a8d91", "#d1495b", "#1b6ca8", "#66a182", "#2e4057", "#edae49", "#9b5de5")
_MARKERS = "os^Dv*P"


def _point(values):
    """Mean and standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return round(float(np.mean(values)), 4), round(float(error), 4)


# Each gives panels: title, label of x, and lines of (name, x, mean, error).


def ratios(folder):
    """Accuracy by the size of the target (figure 3.5)."""
    lines = {
        "target alone": "AdaBoost, target",
        "TrAdaBoost": "kinlearn none",
        "Dynamic": "kinlearn dynamic",
        "Dynamic, source shuffled": "kinlearn dynamic, source labels shuffled",
        "logistic, target": "logistic regression, target",
    }
    panels = []
    for news in NEWS:
        points = {name: [] for name in lines}
        for ratio, rows in RATIOS.items():
            end = "" if ratio == "0.5" else f"-{ratio}"
            found = scores_of(PROTOCOLS[f"transfer-bodies-{news}{end}"], folder).scores
            for name, contender in lines.items():
                if contender in found:
                    values = list(found[contender].values())
                    points[name].append((2 * rows, *_point(values)))
        panels.append((news, "rows of the target", points))
    return "accuracy", panels


def curves(folder):
    """G-mean by rows of the rare class (figures 4.4 to 4.7, 5.9 and 5.10)."""
    lines = {
        "target alone": "AdaBoost, target",
        "SMOTE": "SMOTE + AdaBoost, target",
        "Rare-Transfer": "kinlearn rare",
        "ADOS": "kinlearn ADOS + AdaBoost",
        "random source rows": "random source rows + AdaBoost",
        "second half votes, no source": "AdaBoost, target, second half votes",
        "balanced logistic, target": "balanced logistic regression, target",
    }
    panels = []
    for rate in ("5", "10"):
        protocol = PROTOCOLS[f"rare-curve-rec-talk-{rate}"]
        found = scores_by_size(protocol, folder, CURVE_SIZES)
        points = {
            name: [(n, *_point(v)) for n, v in sorted(found[contender].items())]
            for name, contender in lines.items()
            if contender in found
        }
        panels.append((f"rec-talk, {rate}% rare", "rows of the rare class", points))
    return "G-mean", panels


def f_plot(folder):
    """F of sensitivity and specificity by their weights, ten rare rows (2.6)."""
    lines = {
        "target alone": "AdaBoost, target",
        "SMOTE": "SMOTE + AdaBoost, target",
        "ADOS": "kinlearn ADOS + AdaBoost",
        "random source rows": "random source rows + AdaBoost",
        "balanced logistic, target": "balanced logistic regression, target",
    }
    panels = []
    for rate in ("5", "10"):
        protocol = PROTOCOLS[f"rare-curve-rec-talk-{rate}"]
        rare, both = (
            scores_by_size(protocol, folder, CURVE_SIZES, metric)
            for metric in ("rare", "bac")
        )
        points = {}
        for name, contender in lines.items():
            pairs = list(
                zip(rare[contender][10], both[contender][10], strict=True)
                if contender in rare
                else []
            )
            points[name] = [
                (x, *_point([f_lambda(r, 2 * b - r, 10.0**x) for r, b in pairs]))
                for x in (-1.0, -0.5, 0.0, 0.5, 1.0)
                if pairs
            ]
        label = "log beta: sensitivity left, specificity right"
        panels.append((f"rec-talk, {rate}% rare", label, points))
    return "F", panels


def rows(folder):
    """Accuracy of clusters by the rows of a task (figure 6.4)."""
    lines = {
        "kinlearn": "kinlearn",
        "each task alone": "kinlearn, each task alone",
        "cosine": "kinlearn, cosine",
        "single-task NMF": "single-task NMF",
        "single-task N-cut": "single-task N-cut",
    }
    panels = []
    for name in (
        "rec-talk",
        "rec-sci",
        "rec-comp",
        "talk-sci",
        "talk-comp",
        "sci-comp",
    ):
        protocol = PROTOCOLS[f"clustering-{name}"]
        found = scores_by_size(protocol, folder, (40, 80, 120, 160))
        points = {
            title: [(n, *_point(v)) for n, v in sorted(found[contender].items())]
            for title, contender in lines.items()
            if contender in found
        }
        panels.append((name, "rows of a task", points))
    return "accuracy, %", panels


def weights(folder):
    """Weight of right source rows, and accuracy of two labels (figures 3.3, 4.3)."""
    drift = {}
    for error in ERRORS:
        values = kept(error, 10_000, 200, 20, corrected=False)
        drift[f"error {error:g}"] = [(i, float(v), 0) for i, v in enumerate(values)]
    values = kept(0.1, 10_000, 200, 20, corrected=True)
    drift["error 0.1, dynamic"] = [(i, float(v), 0) for i, v in enumerate(values)]
    labels = {}
    for corrected, title in ((False, "none"), (True, "rare")):
        found = two_labels(corrected=corrected, of_others=False)
        for column, label in enumerate(("common", "rare class")):
            values = found[:, column]
            labels[f"{title}, {label}"] = [
                (i, float(v), 0) for i, v in enumerate(values)
            ]
    return "relative weight; accuracy", [
        ("weight of right source rows", "round", drift),
        ("accuracy of a label", "round", labels),
    ]


def _figure(n_panels, width=3.1, height=3.2, per_row=3):
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "kinlearn"  # the same file from the same figures
    columns = min(n_panels, per_row)
    n_rows = -(-n_panels // columns)
    return plt.subplots(
        n_rows,
        columns,
        figsize=(width * columns, height * n_rows),
        squeeze=False,
        layout="constrained",
    )


def _draw(data, path, *, log=False, shared=True, legends=False):
    label, panels = data
    width = 3.1 if len(panels) > 2 else 4.4
    figure, grid = _figure(len(panels), width)
    axes = grid.ravel()
    for ax, (title, x_label, lines) in zip(axes, panels, strict=True):
        for number, (line, points) in enumerate(lines.items()):
            if not points:
                continue
            x, mean, error = np.transpose(points)
            style = {"color": _COLOURS[number], "label": line}
            if len(x) < 10:
                style |= {"marker": _MARKERS[number], "ms": 4}
            ax.errorbar(x, mean, error if error.any() else None, **style)
        if log:
            ticks = sorted({p[0] for points in lines.values() for p in points})
            ax.set_xscale("log")
            ax.set_xticks(ticks, [f"{t:g}" for t in ticks], minor=False)
            ax.set_xticks([], minor=True)
        ax.set_title(title)
        ax.set_xlabel(x_label)
        if legends:
            ax.legend(frameon=False, fontsize="small")
    for row in grid:
        row[0].set_ylabel(label)
    if shared:
        low = min(ax.get_ylim()[0] for ax in axes)
        high = max(ax.get_ylim()[1] for ax in axes)
        for ax in axes:
            ax.set_ylim(low, high)
    if not legends:
        figure.legend(
            *axes[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=4,
            frameon=False,
            fontsize="small",
        )
    figure.savefig(path, metadata={"Date": None})


def plane(folder):
    """Name and seed of what `_draw_plane` fits (figures 5.5 to 5.7)."""
    return "ados-plane", 0


def _draw_plane(data, path):
    """Boundaries without over-sampling, with made rows, and with the source's."""
    protocol = PROTOCOLS[data[0]]
    problem = load(protocol.problem)
    train, _ = protocol.split(problem, data[1])
    X, y = problem.X[train], problem.y[train]
    chosen = {
        "as it is": "AdaBoost, target",
        "SMOTE": "SMOTE + AdaBoost, target",
        "rows of the source": "random source rows + AdaBoost",
    }
    figure, grid = _figure(len(chosen), 3.0, 3.0)
    a, b = np.meshgrid(np.linspace(-4, 5, 150), np.linspace(-4, 6, 150))
    points = np.column_stack([a.ravel(), b.ravel(), np.ones(a.size)])
    for ax, (title, contender) in zip(grid.ravel(), chosen.items(), strict=True):
        each = protocol.contender(contender)
        model = each.make(problem, data[1], **each.params).fit(X, y)
        regions = np.reshape(model.predict(points), a.shape)
        ax.contourf(
            a, b, regions, levels=[-0.5, 0.5, 1.5], colors=["#ffffff", "#f6d5da"]
        )
        for task, label, colour, size in (
            (0, 1, "#edae49", 3),
            (1, 0, "#8a8d91", 6),
            (1, 1, "#d1495b", 20),
        ):
            if task == 0 and title != "rows of the source":
                continue
            of = (X[:, -1] == task) & (y == label)
            ax.scatter(X[of, 0], X[of, 1], s=size, color=colour)
        ax.set_title(title)
    figure.savefig(path, metadata={"Date": None})


PICTURES = {  # what a picture shows, and how it is drawn
    "transfer-ratios.svg": (ratios, partial(_draw, log=True)),
    "rare-curves.svg": (curves, partial(_draw, log=True)),
    "f-lambda.svg": (f_plot, _draw),
    "cluster-rows.svg": (rows, _draw),
    "transfer-weights.svg": (weights, partial(_draw, shared=False, legends=True)),
    "over-sampling.svg": (plane, _draw_plane),
}
