"""
More rows than fit: a sample, or a cluster?
===========================================

When the rows do not fit in the memory of one machine, a forest can be fitted to a
sample of them, or to all of them where they lie, on a Dask cluster. How much does the
sample cost? Here a cluster of threads stands in for the machines.
"""

# %%
# Rows in eight partitions
# ------------------------
# Twenty clinics. Two columns matter everywhere; a third matters in some of the clinics.

import dask.array as da
import numpy as np
from dask.distributed import Client


def make_rows(n_rows, seed):
    """Rows of six measurements and a clinic, and who is ill."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 7)).astype(np.float32)
    clinic = rng.integers(0, 20, n_rows)
    X[:, -1] = clinic
    risk = X[:, 0] * X[:, 1] + (clinic % 4 == 0) * 2 * X[:, 2]
    return X, (risk + 0.5 * rng.normal(size=n_rows) > 0).astype(int)


client = Client(
    processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"
)

parts = [make_rows(1000, seed) for seed in range(8)]
X = da.concatenate([da.from_array(X, chunks=-1) for X, _ in parts])
y = da.concatenate([da.from_array(y, chunks=-1) for _, y in parts])
print(X.npartitions, "partitions of shape", X.chunksize)

# %%
# All rows, where they lie
# ------------------------
# The forest on Dask has the name and the parameters of the local one, and grows the
# same trees from the same rows. ``to_local`` gives back an ordinary forest.

from kinlearn import trees
from kinlearn.dask import MultiTaskRandomForestClassifier

params = {"n_estimators": 20, "task": -1, "random_state": 0}
forest = MultiTaskRandomForestClassifier(**params).fit(X, y)
client.close()

# %%
# Samples of the rows
# -------------------

X_test, y_test = make_rows(4000, seed=100)
sizes = [1, 2, 4]
scores = []
for n in sizes:
    X_some, y_some = (np.concatenate(some) for some in zip(*parts[:n], strict=True))
    local = trees.MultiTaskRandomForestClassifier(**params).fit(X_some, y_some)
    scores.append(local.score(X_test, y_test))
scores.append(forest.to_local().score(X_test, y_test))

# %%
# What does a sample cost?
# ------------------------

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
n_rows = [1000 * n for n in [*sizes, 8]]
ax.plot(n_rows, scores, color="0.7", zorder=1)
ax.scatter(n_rows[:-1], scores[:-1], label="local, of a sample", zorder=2)
ax.scatter(n_rows[-1:], scores[-1:], label="on Dask, of all rows", zorder=2)
ax.set(
    xscale="log",
    xticks=n_rows,
    xticklabels=[f"{n:,}" for n in n_rows],
    xlabel="rows that the forest has seen",
    ylabel="accuracy on new rows",
)
ax.minorticks_off()
ax.legend(loc="lower right")
plt.show()
