"""
Tasks whose truth is known
==========================

Whether a method finds how tasks are related can only be checked where the truth is
known. The ``make_*`` functions generate such tasks, after the papers that the
methods come from, and return the truth with ``return_truth=True``.
"""

# %%
# Related place by place
# ----------------------
# Two tasks with labels of their own, three and two, that have nothing to do with each
# other by name. Their rows come from the same three patterns, and each task labels the
# patterns in its own way: in the second task, one pattern belongs half to one class and
# half to the other. A cut that helps one task helps the other. A tenth of the labels is
# wrong.

import matplotlib.pyplot as plt
import numpy as np

from kinlearn.datasets import make_bayesnet_tasks

X, y = make_bayesnet_tasks("DS1", class_sep=4.0, random_state=5)
task = X[:, -1]
colours = np.array(["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9"])
markers = "os^Dv"
fig, axes = plt.subplots(
    1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained"
)
for t, ax in enumerate(axes):
    for label in np.unique(y[task == t]):
        rows = (task == t) & (y == label)
        ax.scatter(
            X[rows, 0],
            X[rows, 1],
            s=16,
            color=colours[label],
            marker=markers[label],
            alpha=0.8,
            linewidths=0,
            label=f"label {label}",
        )
    ax.set_title(f"task {t}")
    ax.set_xlabel("x0")
    ax.legend(frameon=False, fontsize=9)
axes[0].set_ylabel("x1")
fig.suptitle("The same places, other labels")

# %%
# Clusters, an outlier and a negative task
# ----------------------------------------
# Ten tasks in two clusters, one that is related to nobody, and one whose coefficients
# are those of the first cluster turned round. The left picture is the truth. The right
# one is what 30 rows of each task give when it is fitted alone: related, but blurred.
# Sharing within the clusters would sharpen it; sharing with everybody would not.

from sklearn.linear_model import Ridge

from kinlearn.datasets import make_clustered_regression

X, y, truth = make_clustered_regression(
    n_samples_per_task=30, noise=1.0, return_truth=True, random_state=0
)
task = X[:, -1]
fitted = np.array(
    [Ridge().fit(X[task == t, :-1], y[task == t]).coef_ for t in np.unique(task)]
)
names = [
    "alone" if cluster < 0 else f"{'-' if sign < 0 else ''}{'AB'[cluster]}"
    for cluster, sign in zip(truth.cluster, truth.sign, strict=True)
]

fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
panels = [(truth.coef, "planted"), (fitted, "each task fitted alone")]
for ax, (coef, title) in zip(axes, panels, strict=True):
    unit = coef / np.linalg.norm(coef, axis=1, keepdims=True)
    image = ax.imshow(unit @ unit.T, vmin=-1, vmax=1, cmap="RdBu_r")
    ax.set_title(title)
    ax.set_xticks(range(len(names)), names, rotation=90)
    ax.set_yticks(range(len(names)), names)
fig.colorbar(image, ax=axes, label="cosine of the coefficients", shrink=0.85)

# %%
# A source that has moved
# -----------------------
# A large source, a small target in which one class is rare, and a shift that moves the
# source's rare class more than the common one. How far the source is from the target is
# part of the truth.

from kinlearn.datasets import make_transfer_pair

X, y, truth = make_transfer_pair(
    2000, 80, shift=(0.5, 2.0), as_frame=True, return_truth=True, random_state=0
)
print(y.groupby(X["task"]).agg(rows="size", rare="sum"))
moved = np.linalg.norm(truth.means[0] - truth.means[1], axis=1)
print(f"moved by {moved[0]:.1f} (common class) and {moved[1]:.1f} (rare class)")
