"""
A good score that hides a bad clinic
====================================

One model for all clinics, one score for all rows: it looks fine. Scores by task show
the clinic for which the model is no better than a coin, and a task scorer chooses
a model that serves it better.
"""

# %%
# Five clinics, one of them different
# -----------------------------------
# In four clinics a high marker means ill. The fifth, a small one, measures the marker
# with a broken device; there, only the blood pressure is informative.

import numpy as np
import pandas as pd

rng = np.random.default_rng(3)
names = ["Ash", "Elm", "Oak", "Pine", "Yew"]
clinic = np.repeat(names, [400, 350, 300, 200, 60])
age, marker, pressure = rng.normal(size=(3, len(clinic)))
risk = 0.3 * age + 2.5 * np.where(clinic == "Yew", pressure, marker)
y = (risk + rng.logistic(size=len(clinic)) > 0.8).astype(int)
X = pd.DataFrame({"age": age, "marker": marker, "pressure": pressure, "clinic": clinic})

# %%
# One score for all rows
# ----------------------
# Every row is predicted by a model that was trained without it, in folds that have
# their share of each clinic.

from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from kinlearn.model_selection import TaskStratifiedKFold
from kinlearn.sharing import PerTask, Pooled

folds = TaskStratifiedKFold(5, task="clinic", shuffle=True, random_state=0)
models = {
    "one model for all": Pooled(LogisticRegression(), task="clinic"),
    "a model for each": PerTask(LogisticRegression(), task="clinic"),
}
proba = {
    name: cross_val_predict(model, X, y, cv=folds, method="predict_proba")[:, 1]
    for name, model in models.items()
}
for name, p in proba.items():
    print(f"{name}: AUC {roc_auc_score(y, p):.3f}")

# %%
# The same scores by clinic
# -------------------------
# :class:`~kinlearn.metrics.TaskFrame` gives any metric for each task.

from kinlearn.metrics import TaskFrame

frames = {
    name: TaskFrame("roc_auc", y, y_score=p, tasks=X["clinic"])
    for name, p in proba.items()
}
for name, frame in frames.items():
    print(name, frame, sep="\n", end="\n\n")

# %%
# Intervals show which differences could be chance. They come from rows drawn with
# replacement within each clinic.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for shift, (name, frame) in zip((-0.12, 0.12), frames.items(), strict=True):
    scores = frame.by_task["roc_auc"]
    bounds = frame.intervals(500, random_state=0).by_task["roc_auc"]
    place = np.arange(len(scores)) + shift
    low, high = np.transpose(list(bounds.values()))
    dots = ax.plot(list(scores.values()), place, "o", label=name)
    ax.hlines(place, low, high, color=dots[0].get_color())
    overall = frame.overall["roc_auc"]
    ax.axvline(overall, color=dots[0].get_color(), linestyle=":", linewidth=1)
ax.axvline(0.5, color="0.6", linewidth=1)
ax.annotate("a coin", (0.5, 3), xytext=(4, 0), textcoords="offset points")
labels = [f"{t} ({n} rows)" for t, n in zip(frame.tasks, frame.n_rows, strict=True)]
ax.set(yticks=range(len(labels)), yticklabels=labels, xlabel="AUC (95% interval)")
ax.invert_yaxis()
ax.legend(loc="center")
ax.set_title("All rows together (dotted) hide Yew")
plt.show()

# %%
# Choose the model on the worst clinic
# ------------------------------------
# For all rows together the two models are nearly alike; for the worst clinic they are
# not. :func:`~kinlearn.metrics.make_task_scorer` makes either a score to choose by.

from sklearn.model_selection import cross_validate

from kinlearn.metrics import make_task_scorer

scoring = {
    aggregate: make_task_scorer("roc_auc", task="clinic", aggregate=aggregate)
    for aggregate in ("micro", "macro", "worst")
}
rows = {}
for name, model in models.items():
    found = cross_validate(model, X, y, cv=folds, scoring=scoring)
    rows[name] = {key: found[f"test_{key}"].mean() for key in scoring}
print(pd.DataFrame(rows).T.round(3))
