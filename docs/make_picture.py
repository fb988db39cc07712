"""Draw the picture of the README, from a real run of about a minute.

`.venv/bin/python docs/make_picture.py`: three forms of the same forest on the
demonstration data, cross-validated; the AUC of every clinic, mean of five repeats.
"""

from pathlib import Path

import matplotlib
import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import cross_val_predict

from kinlearn.datasets import load_demo
from kinlearn.metrics import TaskFrame
from kinlearn.model_selection import TaskStratifiedKFold
from kinlearn.sharing import PerTask, Pooled, TaskAsFeature

matplotlib.use("svg")
import matplotlib.pyplot as plt

TARGET = Path(__file__).parent / "_static" / "clinics.svg"
FOREST = ExtraTreesClassifier(min_samples_leaf=3, random_state=0)
FORMS = {
    "one model per clinic": (PerTask(FOREST, task="clinic"), "#1b6ca8", "o"),
    "one for all": (Pooled(FOREST, task="clinic"), "#d1495b", "s"),
    "one for all, clinic as a feature": (
        TaskAsFeature(FOREST, task="clinic"),
        "#8a8d91",
        "D",
    ),
}
SIZES = (96, 56, 30)  # so that points at the same place are all seen
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
    """One line for each clinic, largest on top."""
    plt.rcParams.update({"font.size": 11, "svg.hashsalt": "kinlearn"})
    clinics = sorted(rows, key=rows.get)
    place = np.arange(len(clinics))
    figure, axes = plt.subplots(figsize=(6.8, 4.5), layout="constrained")
    values = np.array([[table[form][c] for c in clinics] for form in FORMS])
    axes.hlines(place, values.min(0), values.max(0), color="#d9dbde", lw=5, zorder=1)
    styles = zip(FORMS.items(), SIZES, values, strict=True)
    for (form, (_, color, marker)), size, line in styles:
        axes.scatter(
            line,
            place,
            s=size,
            color=color,
            marker=marker,
            edgecolor="white",
            lw=0.8,
            label=form,
            zorder=2,
        )
    axes.axvline(0.5, color="#55585c", lw=0.8, ls=":", zorder=0)
    axes.text(
        0.5, len(clinics) - 0.45, "coin toss", ha="center", color="#55585c", size=9
    )
    axes.set_yticks(place, [f"{c}  ({rows[c]})" for c in clinics])
    axes.set(xlabel="AUC (1 is perfect)", ylabel="clinic (patients)", xlim=(0.0, 1.0))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#eceef0", zorder=0)
    axes.set_axisbelow(True)
    figure.legend(loc="outside upper center", ncols=3, frameon=False, handletextpad=0.2)
    return figure


def main():
    """Run, draw and save."""
    demo = load_demo(as_frame=True)
    X, y = demo.data, demo.target
    table = {form: scores(model, X, y) for form, (model, _, _) in FORMS.items()}
    figure = draw(table, X["clinic"].value_counts().to_dict())
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
