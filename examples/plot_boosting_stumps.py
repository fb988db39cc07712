"""
Two-task stumps: what one task learns helps the next
====================================================

Five machines, two measurements. Presses fail when they are hot and carry a load, ovens
when they carry none or are very hot; where exactly the lines run differs by machine.
Boosting over two-task stumps finds what they share from a few rows of each.
"""

# %%
# Five machines in two families
# -----------------------------

import numpy as np
import pandas as pd

MACHINES = ["press A", "press B", "press C", "oven D", "oven E"]
LIMITS = [3.0, 4.0, 5.0, 8.0, 9.0]


def make_machines(n_each, seed):
    """Heat, load, machine, and whether the machine failed."""
    rng = np.random.default_rng(seed)
    number = np.repeat(np.arange(5), n_each)
    heat, load = rng.uniform(0, 10, size=(2, len(number)))
    limit = np.array(LIMITS)[number]
    failed = np.where(
        number < 3, (heat > 6) & (load > limit), (load < 3.5) | (heat > limit)
    )
    failed = failed ^ (rng.random(len(number)) < 0.03)
    machine = np.array(MACHINES)[number]
    X = pd.DataFrame({"heat": heat, "load": load, "machine": machine})
    return X, failed.astype(int)


X, y = make_machines(30, seed=0)
X_test, y_test = make_machines(1000, seed=1)

# %%
# A stump in words
# ----------------
# The root labels one machine; below each of its branches another one is labelled.

from kinlearn.boosting import AbstainingAdaBoostClassifier, export_text

model = AbstainingAdaBoostClassifier(150, task="machine").fit(X, y)
print(export_text(model, rounds=0))

# %%
# What the model has learned for each machine
# -------------------------------------------
# The shade is the probability of a failure, the dots are the 30 rows of the machine.

import matplotlib.pyplot as plt

grid = np.linspace(0, 10, 81)
heat, load = np.meshgrid(grid, grid)
fig, axes = plt.subplots(1, 5, figsize=(11, 2.7), sharey=True, layout="constrained")
for ax, machine in zip(axes, MACHINES, strict=True):
    points = pd.DataFrame(
        {"heat": heat.ravel(), "load": load.ravel(), "machine": machine}
    )
    risk = model.predict_proba(points)[:, 1].reshape(heat.shape)
    shade = ax.pcolormesh(grid, grid, risk, cmap="PuOr_r", vmin=0, vmax=1)
    own = X["machine"] == machine
    for failed, marker in ((0, "o"), (1, "X")):
        rows = own & (y == failed)
        ax.scatter(
            X["heat"][rows], X["load"][rows], s=22, marker=marker, lw=0.6,
            c="k" if failed else "w", edgecolors="w" if failed else "k",
            label="failed" if failed else "ran",
        )  # fmt: skip
    ax.set(title=machine, xlabel="heat", aspect="equal")
axes[0].set_ylabel("load")
axes[0].legend(fontsize=7, loc="lower left")
fig.colorbar(shade, ax=axes, label="probability of failure")

# %%
# Did sharing help, and which machines?
# --------------------------------------
# On the left, the accuracy on new rows, round by round, over ten samples; on the right,
# that of each machine. Alone, each machine has boosted trees of its own.

from kinlearn.sharing import PerTask


def by_machine(predicted):
    right = pd.Series(predicted == y_test).groupby(X_test["machine"]).mean()
    return right[MACHINES].to_numpy()


together, alone, overall = [], [], []
for seed in range(10):
    X, y = make_machines(30, seed=10 + seed)
    model = AbstainingAdaBoostClassifier(100, task="machine").fit(X, y)
    overall.append([np.mean(p == y_test) for p in model.staged_predict(X_test)])
    together.append(by_machine(model.predict(X_test)))
    own = PerTask(AbstainingAdaBoostClassifier(40), task="machine").fit(X, y)
    alone.append(by_machine(own.predict(X_test)))

fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
rounds = np.arange(1, 101)
mean, spread = np.mean(overall, axis=0), np.std(overall, axis=0) / np.sqrt(10)
axes[0].plot(rounds, mean, color="#0072B2", label="two-task stumps")
axes[0].fill_between(
    rounds, mean - spread, mean + spread, color="#0072B2", alpha=0.2, lw=0
)
axes[0].axhline(np.mean(alone), color="0.3", ls="--", label="each machine alone")
axes[0].set(xlabel="round", ylabel="accuracy on new rows")
axes[0].legend(loc="lower right")
where = np.arange(5)
for scores, shift, colour, label in (
    (together, -0.12, "#0072B2", "two-task stumps"),
    (alone, 0.12, "0.3", "alone"),
):
    error = np.std(scores, axis=0) / np.sqrt(10)
    axes[1].errorbar(
        np.mean(scores, axis=0), where + shift, xerr=error, fmt="o", color=colour,
        label=label,
    )  # fmt: skip
axes[1].set_yticks(where, MACHINES)
axes[1].invert_yaxis()
axes[1].set_xlabel("accuracy on new rows")
axes[1].legend()
plt.show()
