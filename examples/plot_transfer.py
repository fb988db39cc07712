"""
What a small hospital takes from large ones
===========================================

A small hospital has 30 patients of its own and the records of two large ones. One of
these treats patients much like its own; in the other the outcome was written down so
carelessly that it is noise. Boosted transfer weights every source row by how well it
agrees with the hospital's own.
"""

# %%
# Three hospitals
# ---------------

import numpy as np
import pandas as pd


def make_hospitals(n_small, seed):
    """Four measurements, the hospital, and whether a rare complication came."""
    rng = np.random.default_rng(seed)
    hospital = np.repeat(["alike", "careless", "small"], [600, 600, n_small])
    X = pd.DataFrame(rng.normal(size=(len(hospital), 4)), columns=list("abcd"))
    risk = X["a"] + X["b"] - 0.3 * (hospital == "alike") * X["c"]
    y = (risk + 0.5 * rng.normal(size=len(X)) > 1.2).to_numpy().astype(int)
    careless = hospital == "careless"
    y[careless] = rng.permutation(y[careless])
    return X.assign(hospital=hospital), y


X, y = make_hospitals(30, seed=0)
X_test, y_test = make_hospitals(3000, seed=1)
own = X_test["hospital"] == "small"
X_test, y_test = X_test[own], y_test[own]

# %%
# Weight drift
# ------------
# All rows begin with equal weight here, as in the papers. Without a correction, the
# sources lose all weight to the 30 own rows within some rounds, useful or not. The
# dynamic correction holds rows that are right, so the careless hospital falls behind
# the other.

import matplotlib.pyplot as plt

from kinlearn.report import WeightDriftDisplay
from kinlearn.transfer import TrAdaBoostClassifier

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, correction in zip(axes, [None, "dynamic"], strict=True):
    model = TrAdaBoostClassifier(
        task="hospital", target="small", correction=correction, target_share=None
    ).fit(X, y)
    WeightDriftDisplay.from_estimator(model, ax=ax)
    ax.set_title(f"correction={correction!r}")
    print(
        correction, {k: round(v, 3) for k, v in model.source_weight_["small"].items()}
    )

# %%
# Which correction finds the rare complication?
# ---------------------------------------------
# The mean over ten samples of the small hospital. The own rows alone are the line to
# beat: a method that falls below it has transferred harm. As the papers begin and vote,
# the careless hospital does harm: its noise is kept as well as the useful rows of the
# other. With ``guard=5`` folds of own rows are left out, with the sources and without,
# and the sources are dropped where they do harm. By default the own rows begin with
# seven tenths of all weight, and no source can do much harm.

from kinlearn.metrics import g_mean_score

papers = {"target_share": None, "voters": "second_half"}
settings = {
    "own rows alone": None,
    "papers": papers,
    "papers, guard=5": {**papers, "guard": 5, "random_state": 0},
    "default": {},
    "rare": {"correction": "rare"},
    "balanced": {"correction": "balanced"},
    "balanced, with\nbalanced start": {"correction": "balanced", "balance_start": True},
}
scores = {name: [] for name in settings}
for seed in range(10):
    X, y = make_hospitals(30, seed=10 + seed)
    small = (X["hospital"] == "small").to_numpy()
    for name, setting in settings.items():
        rows = small if setting is None else slice(None)
        model = TrAdaBoostClassifier(task="hospital", target="small", **(setting or {}))
        predicted = model.fit(X[rows], y[rows]).predict(X_test)
        scores[name].append(g_mean_score(y_test, predicted))

fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
means = [np.mean(scores[name]) for name in settings]
spread = [np.std(scores[name]) / np.sqrt(10) for name in settings]
ax.barh(list(settings), means, xerr=spread, color=["0.6"] + ["#0072B2"] * 6)
ax.axvline(means[0], color="0.3", linestyle="--", linewidth=1)
ax.invert_yaxis()
ax.set(xlabel="G-mean on the small hospital's patients", xlim=(0, 1))

# %%
# Three models of the same F1
# ---------------------------
# A rare complication, and three models with an F1 of 0.3: one that raises many alarms,
# one in between, one that raises few. The F-lambda plot weighs precision and recall in
# all ways; where a false negative is worse than a false alarm, at the right, the bold
# one is best, and at the left the timid one.

from kinlearn.report import FLambdaDisplay

truth = np.repeat([0, 1], [960, 40])


def predictions(hits, alarms):
    """Of 40 patients and 960 others, who is predicted to be a patient."""
    found = np.zeros(1000, dtype=int)
    found[960 : 960 + hits] = found[:alarms] = 1
    return found


FLambdaDisplay.from_predictions(
    truth,
    {
        "bold": predictions(24, 96),
        "even": predictions(12, 28),
        "timid": predictions(9, 11),
    },
)
plt.show()
