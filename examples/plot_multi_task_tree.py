"""
One tree for two mail boxes with labels of their own
====================================================

Ana sorts her mail into four folders, Bo into two. The folders have different
names, but both look at the same things in a letter. A multi-task tree finds the
tests together and predicts the labels of each; a task can be
decided at an inner node, as soon as nothing more need be known.
"""

# %%
# Two tasks, one feature space
# ----------------------------
# Four kinds of letters. Ana gives each kind a folder. For Bo everything that is
# not formal is private.

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
centers = {"family": (-3, 2), "travel": (-3, -2), "bills": (2, 3), "work": (2, -1)}
kinds = np.array(list(centers))


def letters(n, owner):
    kind = rng.choice(kinds, n)
    spots = np.array([centers[k] for k in kind]) + rng.normal(size=(n, 2))
    frame = pd.DataFrame(spots, columns=["formality", "numbers"]).assign(owner=owner)
    if owner == "Bo":
        kind = np.where(np.isin(kind, ["family", "travel"]), "private", "office")
    return frame, kind


def both(n_ana, n_bo):
    (X_ana, y_ana), (X_bo, y_bo) = letters(n_ana, "Ana"), letters(n_bo, "Bo")
    return pd.concat([X_ana, X_bo], ignore_index=True), np.concatenate([y_ana, y_bo])


X, y = both(120, 60)

# %%
# Where is each task decided?
# ---------------------------
# The first test serves both. After it, Bo's letters are decided, while Ana's
# need another test.

from kinlearn.trees import MultiTaskDecisionTreeClassifier, export_text, plot_tree

tree = MultiTaskDecisionTreeClassifier(task="owner", purity=0.9, min_samples_leaf=5)
tree.fit(X, y)
print(export_text(tree))

# %%
# In the picture every task has a colour, and its label stands at the node at
# which the task is decided.

ax = plot_tree(tree)

# %%
# What does sharing buy?
# ----------------------
# Bo's tree alone has only Bo's letters to find its tests with. The fewer they
# are, the more it gains from those of Ana.

import matplotlib.pyplot as plt

from kinlearn.sharing import PerTask
from kinlearn.trees import MultiTaskRandomForestClassifier

test_X, test_y = both(1, 1000)
of_bo = (test_X["owner"] == "Bo").to_numpy()
sizes = [4, 8, 16, 32]
scores = {"Bo's letters alone": [], "with Ana's letters": []}
for n in sizes:
    drawn = [both(100, n) for _ in range(6)]
    options = {"n_estimators": 20, "min_samples_leaf": 1, "random_state": 0}
    plain = PerTask(MultiTaskRandomForestClassifier(**options), task="owner")
    shared = MultiTaskRandomForestClassifier(task="owner", **options)
    for name, model in zip(scores, (plain, shared), strict=True):
        right = [(model.fit(*d).predict(test_X) == test_y)[of_bo] for d in drawn]
        scores[name].append(np.mean(right))

fig, ax = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
for name, values in scores.items():
    ax.plot(sizes, values, "o-", label=name)
ax.set_xscale("log", base=2)
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.set(xlabel="letters of Bo", ylabel="accuracy on new letters of Bo")
_ = ax.legend()
