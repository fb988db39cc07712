"""
One rule for all, and what each clinic adds
===========================================

Three clinics refer patients by two measurements. The rule is the same but for details:
one clinic is stricter, another looks closer at the second measurement. Each has few
patients. A multi-task support vector machine learns the rule that they share and a
correction for each.
"""

# %%
# Three clinics, 25 patients each
# -------------------------------

import numpy as np
import pandas as pd

CLINICS = ["north", "south", "west"]


def make_clinics(n_each, seed):
    """Two measurements, the clinic, and whether the patient was referred."""
    rng = np.random.default_rng(seed)
    clinic = np.repeat(CLINICS, n_each)
    X = pd.DataFrame(rng.uniform(-2, 2, size=(len(clinic), 2)), columns=["a", "b"])
    curve = X["b"] - 1.2 * np.sin(1.5 * X["a"])
    shift = np.select([clinic == "south", clinic == "west"], [0.7, 0.5 * X["a"]], 0.0)
    noise = 0.25 * rng.normal(size=len(X))
    return X.assign(clinic=clinic), (curve - shift + noise > 0).to_numpy().astype(int)


X, y = make_clinics(25, seed=3)
X_test, y_test = make_clinics(2000, seed=4)

# %%
# Shared and own
# --------------
# The common rule has a flexible kernel; corrections are linear, so a clinic can shift
# and tilt the rule but not bend it.

from sklearn.svm import SVC

from kinlearn.sharing import PerTask, Pooled
from kinlearn.svm import MultiTaskSVC

models = {
    "one for all": Pooled(SVC(C=10, gamma=0.5), task="clinic"),
    "one for each": PerTask(SVC(C=10, gamma=0.5), task="clinic"),
    "shared + own": MultiTaskSVC(
        C=10,
        gamma=0.5,
        correction_kernel="linear",
        correction_penalty=20,
        task="clinic",
    ),
}
for name, model in models.items():
    print(f"{name}: {model.fit(X, y).score(X_test, y_test):.3f}")

# %%
# What each clinic adds
# ---------------------
# The line is the clinic's rule, the dashed line the common one; colours show how far
# the clinic departs from it. Circled patients are support vectors: the rule rests
# on them.

import matplotlib.pyplot as plt

model = models["shared + own"]
side = np.linspace(-2, 2, 120)
grid = pd.DataFrame(
    np.stack(np.meshgrid(side, side), -1).reshape(-1, 2), columns=["a", "b"]
)
common = model.common_decision_function(grid.assign(clinic="north"))

fig, axes = plt.subplots(1, 3, figsize=(10, 3.7), sharey=True, layout="constrained")
for ax, clinic in zip(axes, CLINICS, strict=True):
    total = model.decision_function(grid.assign(clinic=clinic))
    own = model.task_decision_function(grid.assign(clinic=clinic)).reshape(120, 120)
    shade = ax.pcolormesh(
        side, side, own, cmap="PuOr", vmin=-2, vmax=2, alpha=0.6, rasterized=True
    )
    ax.contour(side, side, common.reshape(120, 120), [0], colors="0.3", linestyles="--")
    ax.contour(side, side, total.reshape(120, 120), [0], colors="k", linewidths=2)
    here = (X["clinic"] == clinic).to_numpy()
    colors = np.where(y[here] == 1, "#0072B2", "white")
    ax.scatter(X["a"][here], X["b"][here], c=colors, edgecolors="k", s=28, zorder=3)
    rests_on = X.iloc[model.task_support_[clinic]]
    ax.scatter(rests_on["a"], rests_on["b"], s=90, facecolors="none", edgecolors="k")
    ax.set(title=clinic, xlabel="a")
axes[0].set_ylabel("b")
fig.colorbar(shade, ax=axes, label="what the clinic adds")
plt.show()

# %%
# How much should clinics share?
# ------------------------------
# With a large penalty each clinic has a shift of the common rule at most; with a small
# one it has a model of its own.

penalties = np.logspace(-3, 3, 13)
scores = []
for penalty in penalties:
    model.set_params(correction_penalty=penalty).fit(X, y)
    scores.append(model.score(X_test, y_test))

fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.semilogx(penalties, scores, "o-", color="#0072B2", label="shared + own")
for name, style in [("one for all", "--"), ("one for each", ":")]:
    ax.axhline(
        models[name].score(X_test, y_test), color="0.4", linestyle=style, label=name
    )
ax.set(xlabel="correction_penalty", ylabel="accuracy on new patients")
ax.legend()
plt.show()
