"""
Which groups are alike, and which are opposite
==============================================

Eight teams grade the same kind of product. Three of them like what is new, three like
what is cheap, one grades upside down, and one throws dice. MTBoost boosts all teams
with shared learners, and the covariance of their weights shows which are related.
"""

# %%
# Eight teams
# -----------

import numpy as np
import pandas as pd

TEAMS = ["new 1", "new 2", "new 3", "cheap 1", "cheap 2", "cheap 3", "upside", "dice"]


def make_teams(n, seed):
    """Six measurements, the team, and whether the team likes the product."""
    rng = np.random.default_rng(seed)
    task = np.arange(8 * n) % 8
    X = rng.normal(size=(8 * n, 6))
    taste = np.zeros((8, 6))
    taste[:3, :2] = 1
    taste[3:6, 2:4] = 1
    taste[6, :2] = -1
    y = (X * taste[task]).sum(axis=1) + 0.7 * rng.normal(size=8 * n) > 0
    frame = pd.DataFrame(X, columns=list("abcdef"))
    return frame.assign(team=np.array(TEAMS)[task]), y.astype(int)


X, y = make_teams(60, seed=0)
X_test, y_test = make_teams(500, seed=1)

# %%
# The correlations
# ----------------

import matplotlib.pyplot as plt

from kinlearn.boosting import MTBoostClassifier
from kinlearn.report import TaskAffinityDisplay

model = MTBoostClassifier(task="team", random_state=0).fit(X, y)
TaskAffinityDisplay(
    model.task_correlation_, model.tasks_.tolist(), contender="MTBoost"
).plot()

# %%
# The team that grades upside down is as useful to its relatives as one that agrees: its
# rows are learned with their labels exchanged. The one that throws dice is left alone.
#
# Who gains?
# ----------
# The same booster for each team alone has 60 rows.

from kinlearn.sharing import PerTask

alone = PerTask(MTBoostClassifier(random_state=0), task="team").fit(X, y)
right = {
    name: pd.Series(one.predict(X_test) == y_test).groupby(X_test["team"]).mean()
    for name, one in {"together": model, "alone": alone}.items()
}
frame = pd.DataFrame(right).loc[TEAMS]
print(frame.round(3))

fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.hlines(frame.index, frame.min(axis=1), frame.max(axis=1), color="0.75")
ax.plot(frame["alone"], frame.index, "o", color="0.5", label="alone")
ax.plot(frame["together"], frame.index, "o", color="C0", label="together")
ax.invert_yaxis()
ax.set_xlabel("accuracy on new products")
ax.legend(frameon=False)
