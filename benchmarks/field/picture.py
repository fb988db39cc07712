"""The picture of the field: mean ranks in both regimes, and time."""

from pathlib import Path

from benchmarks.field.ranking import complete, median_seconds, ranking
from benchmarks.field.sets import REGIMES
from benchmarks.jsonlines import read_records

__all__ = ["data", "draw"]

_OURS, _OTHERS = "#1b6ca8", "#8a8d91"


def data(folder):
    """Mean ranks, the critical difference and seconds, by regime.

    Parameters
    ----------
    folder : path-like
        Of the files of records.

    Returns
    -------
    dict
        Of JSON types.
    """
    records = complete(read_records(Path(folder) / "field.jsonl"))
    found = {regime: ranking(records, regime) for regime in REGIMES}
    seconds = {k: round(v, 3) for k, v in median_seconds(records).items()}
    return {
        "seconds": seconds,
        "regimes": {
            regime: {
                "contenders": each.contenders,
                "mean": [round(mean, 3) for mean in each.mean],
                "difference": round(each.difference, 3),
            }
            for regime, each in found.items()
            if each is not None
        },
    }


def draw(data, path):
    """Draw mean ranks as dots, the best on top; a bar is the critical difference.

    Parameters
    ----------
    data : dict
        Of `data`.
    path : path-like
        Of the SVG.
    """
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "kinlearn"
    most = max(len(each["contenders"]) for each in data["regimes"].values())
    figure, axes = plt.subplots(
        1, len(data["regimes"]), figsize=(10, 0.8 + 0.24 * most), layout="constrained"
    )
    titles = {"rows": "new rows of known groups", "groups": "new groups"}
    for ax, (regime, found) in zip(axes, data["regimes"].items(), strict=True):
        names, mean = found["contenders"], found["mean"]
        for place, (name, rank) in enumerate(zip(names, mean, strict=True)):
            color = _OURS if name.startswith("kinlearn") else _OTHERS
            ax.plot(rank, place, "o", color=color)
            ax.annotate(
                f"{data['seconds'][name]:.2g} s",
                (rank, place),
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
                fontsize="x-small",
                color="#5b5e62",
            )
        ax.axvspan(mean[0], mean[0] + found["difference"], color=_OURS, alpha=0.08)
        ax.set_yticks(range(len(names)), names, fontsize="small")
        for label in ax.get_yticklabels():
            if label.get_text().startswith("kinlearn"):
                label.set_color(_OURS)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlim(0.5, len(names) + 0.5)
        ax.set_title(titles[regime], fontsize="medium")
        ax.set_xlabel("mean rank; 1 is best")
    figure.savefig(path, format="svg", metadata={"Date": None})
    plt.close(figure)
