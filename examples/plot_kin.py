"""
Share as much as helps, task by task
====================================

Seven shops sell the same goods. Six are alike and small. The one at the station is
large, and the opposite of the others. :class:`~kinlearn.KinRegressor` finds that out.
"""

# %%
# The data
# --------
# Sales depend on eight things by the same rule in most shops, and much on chance. At
# the station all of them work the other way round.

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
sizes = {
    "market": 60,
    "harbour": 50,
    "mall": 45,
    "school": 40,
    "park": 30,
    "village": 12,
    "station": 400,
}
slopes = rng.normal(size=8)
frames = []
for shop, n in sizes.items():
    features = rng.normal(size=(n, 8))
    rule = -slopes if shop == "station" else slopes
    frame = pd.DataFrame(features).add_prefix("x")
    frame["shop"] = shop
    frame["sales"] = features @ rule + 3 * rng.normal(size=n)
    frames.append(frame)
data = pd.concat(frames, ignore_index=True)
X, y = data.drop(columns="sales"), data["sales"]

# %%
# One model for all fails most shops, one for each fails the small ones
# ---------------------------------------------------------------------
# The mean squared error on rows that were held out:

from sklearn.linear_model import Ridge

from kinlearn import KinRegressor
from kinlearn.sharing import PerTask, Pooled

test = X.groupby("shop").sample(frac=0.5, random_state=0).index
train = X.index.difference(test)
models = {
    "one for each": PerTask(Ridge(), task="shop"),
    "one for all": Pooled(Ridge(), task="shop"),
    "Kin": KinRegressor(task="shop", families=["linear", "trees"], random_state=0),
}
errors = {}
for name, model in models.items():
    model.fit(X.loc[train], y[train])
    error = (model.predict(X.loc[test]) - y[test]) ** 2
    errors[name] = error.groupby(X.loc[test, "shop"]).mean()
pd.DataFrame(errors).loc[list(sizes)].round(1)

# %%
# Which shops are alike?
# ----------------------
# Shops of one number have slopes that cannot be told apart. Within such a group there
# is a model that shares, so the small shops do without the station.

kin = models["Kin"]
pd.Series(kin.task_groups_)[list(sizes)].rename("group")

# %%
# Who shares how much?
# --------------------
# Models that share may keep a task apart by themselves, so that the station need not
# have a large part of its own.

from kinlearn.report import SharingDisplay

display = SharingDisplay.from_estimator(kin)
_ = display.ax_.set_title("Where the predictions come from")

# %%
# And a new shop?
# ---------------
# For this score whole shops are left out in turn, the station among them.

print(f"R2 in known shops {kin.seen_score_:.2f}, in a new one {kin.unseen_score_:.2f}")
pd.Series(kin.unseen_task_scores_).round(2)
