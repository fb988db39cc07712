"""
The task in a pipeline
======================

A scaler in front of a model treats every column alike, also the one that says which
clinic a row comes from. :func:`kinlearn.keep_task` leads the task past any transformer,
so that a whole pipeline can be searched and cross-validated.
"""

# %%
# Data with a task column
# -----------------------
# Patients of ten clinics (generated data). Laboratories differ, so some haemoglobin
# values are missing.

import numpy as np

from kinlearn.datasets import load_demo

demo = load_demo(as_frame=True)
X, y = demo.data, demo.target
lost = np.random.default_rng(0).random(len(X)) < 0.2
X["haemoglobin"] = X["haemoglobin"].mask(lost)
X.head()

# %%
# What goes wrong without care
# ----------------------------
# With the clinic by name, a scaler stops with an error. With the clinic by number it
# does worse: it goes on, and there are no clinics any more.

from sklearn.preprocessing import StandardScaler

from kinlearn import keep_task, with_task

number = X["clinic"].astype("category").cat.codes
Z = with_task(X[["age", "medications"]].to_numpy(), number)
scaled = StandardScaler().fit_transform(Z)
kept = keep_task(StandardScaler(), task=-1).fit_transform(Z)
print("as it comes:   ", Z[0])
print("scaled:        ", scaled[0].round(2))
print("with keep_task:", kept[0].round(2))

# %%
# A pipeline that keeps the task
# ------------------------------
# Wrap each transformer, or a pipeline of them. A frame stays a frame, and the task
# keeps its name.

from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from kinlearn.sharing import PerTask, Pooled, TaskAsFeature

prepare = make_pipeline(SimpleImputer(), StandardScaler())
pipeline = Pipeline(
    [
        ("prepare", keep_task(prepare, task="clinic")),
        ("model", PerTask(LogisticRegression(), task="clinic")),
    ]
)
pipeline

# %%
# Search over all of it
# ---------------------
# The penalty of the classifier and even the way of sharing are parameters of one
# search; the steps of the preparation could be, too. The folds give every clinic its
# share.

from sklearn.model_selection import GridSearchCV

from kinlearn.model_selection import TaskStratifiedKFold

search = GridSearchCV(
    pipeline,
    {
        "model": [
            form(LogisticRegression(), task="clinic")
            for form in (PerTask, Pooled, TaskAsFeature)
        ],
        "model__estimator__C": [0.001, 0.01, 0.1, 1.0],
    },
    cv=TaskStratifiedKFold(3, task="clinic", shuffle=True, random_state=0),
    scoring="roc_auc",
)
search.fit(X, y)
print(search.best_params_)

# %%
# On these data a model for each clinic wins, unless the penalty is heavy. Pooling stays
# where it is for any penalty: two of the clinics differ from the others, and one model
# cannot serve both kinds.

import matplotlib.pyplot as plt

results = search.cv_results_
C = results["param_model__estimator__C"].astype(float)
form = np.array([type(model).__name__ for model in results["param_model"]])
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for name in ("PerTask", "Pooled", "TaskAsFeature"):
    of = form == name
    ax.errorbar(
        C[of],
        results["mean_test_score"][of],
        results["std_test_score"][of] / np.sqrt(3),
        marker="o",
        label=name,
    )
ax.set(xscale="log", xlabel="C of the logistic regression", ylabel="AUC, all rows")
ax.legend(frameon=False)
