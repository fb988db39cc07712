"""Draw the picture of the README, from a real run of about five minutes.

`.venv/bin/python docs/make_picture.py`: one forest in the three usual forms and
KinClassifier on the demonstration data, cross-validated; the AUC of every clinic, mean
of five repeats.
"""

from pathlib import Path

import matplotlib
import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import cross_val_predict

from kinlearn import KinClassifier
from kinlearn.datasets import load_demo
from kinlearn.metrics import TaskFrame
from kinlearn.model_selection import TaskStratifiedKFold
from kinlearn.sharing import PerTask, Pooled, TaskAsFeature

matplotlib.use("svg")
import matplotlib.pyplot as plt

TARGET = Path(__file__).parent / "_static" / "clinics.svg"
FOREST = ExtraTreesClassifier(min_samples_leaf=3, random_state=0)
MODELS = {
    "forest for each clinic": PerTask(FOREST, task="clinic"),
    "one forest for all": Pooled(FOREST, task="clinic"),
    "one forest, clinic as a feature": TaskAsFeature(FOREST, task="clinic"),
    "KinClassifier": KinClassifier(task="clinic", random_state=0),
}
# colour, marker and size: told apart without colours too, and where points coincide
STYLES = {
    "forest for each clinic": ("#3b7dd8", "o", 62),
    "one forest for all": ("#d1495b", "s", 52),
    "one forest, clinic as a feature": ("#8a8d91", "D", 34),
    "KinClassifier": ("#1d7a46", "*", 190),
}
REPEATS = 5


def scores(model, X, y):
    """AUC by clinic, mean of the repeats."""
    found = []
    for seed in range(REPEATS):
        folds = TaskStratifiedKFold(5, task="clinic", shuffle=True, random_state=seed)
        proba = cross_val_predict(
            clone(model), X, y, cv=folds, method="predict_proba", n_jobs=2
        )
        frame = TaskFrame("roc_auc", y, y_score=proba[:, 1], tasks=X["clinic"])
        found.append(frame.by_task["roc_auc"])
    return {clinic: np.mean([run[clinic] for run in found]) for clinic in found[0]}


def draw(table, rows):
    """One line for each clinic, largest on top.

    Parameters
    ----------
    table : dict
        Of each model, the score of each clinic.
    rows : dict
        Patients of each clinic.
    """
    plt.rcParams.update(
        {"font.size": 11, "svg.hashsalt": "kinlearn", "svg.fonttype": "path"}
    )
    clinics = sorted(rows, key=rows.get)
    place = np.arange(len(clinics))
    figure, axes = plt.subplots(figsize=(7.4, 4.6), layout="constrained")
    figure.set_facecolor("white")
    values = np.array([[table[name][c] for c in clinics] for name in MODELS])
    axes.hlines(place, values.min(0), values.max(0), color="#e3e5e8", lw=6, zorder=1)
    for name, line in zip(MODELS, values, strict=True):
        color, marker, size = STYLES[name]
        axes.scatter(
            line,
            place,
            s=size,
            color=color,
            marker=marker,
            edgecolor="white",
            lw=0.8,
            label=name,
            zorder=2 + (name == "KinClassifier"),
        )
    axes.axvline(0.5, color="#55585c", lw=0.9, ls=":", zorder=0)
    axes.annotate(
        "no better than chance",
        (0.5, 0.0),
        (-5, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        color="#55585c",
        size=9,
    )
    axes.set_yticks(place, [f"{c}  {rows[c]}" for c in clinics])
    axes.set(
        xlabel="AUC of patients the model has not seen",
        ylabel="clinic, number of patients",
        xlim=(0.0, 1.005),
    )
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#eceef0", zorder=0)
    axes.set_axisbelow(True)
    figure.legend(loc="outside upper center", ncols=2, frameon=False, handletextpad=0.2)
    return figure


def main():
    """Run, draw and save."""
    demo = load_demo(as_frame=True)
    X, y = demo.data, demo.target
    table = {name: scores(model, X, y) for name, model in MODELS.items()}
    figure = draw(table, X["clinic"].value_counts().to_dict())
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
