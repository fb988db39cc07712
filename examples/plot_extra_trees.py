"""
One forest for groups that agree here and differ there
======================================================

Six shops sell an umbrella. Rain sells it everywhere; the price matters only in three of
the shops. A forest of all rows averages over that, a forest of each shop has few rows,
and multi-task extra trees share what is shared.
"""

# %%
# Six shops, two kinds of them
# ----------------------------

import numpy as np

from kinlearn import with_task


def make_shops(n_rows, seed):
    """Rows of rain, price and shop, and how many umbrellas were sold."""
    rng = np.random.default_rng(seed)
    rain, price = rng.uniform(-1, 1, size=(2, n_rows))
    shop = np.arange(n_rows) % 6
    demand = 3 * (rain > 0) - 3 * price * (shop >= 3) + (shop >= 3)
    return (
        with_task(np.column_stack([rain, price]), shop),
        demand + rng.normal(size=n_rows),
    )


X_test, y_test = make_shops(6000, seed=1)

# %%
# How many rows does each way need?
# ---------------------------------
# Shop by shop, all together, and multi-task with a task split considered at half of the
# nodes; the mean of five samples of each size.

from kinlearn.sharing import PerTask, Pooled
from kinlearn.trees import MultiTaskExtraTreesRegressor

forest = MultiTaskExtraTreesRegressor(100, min_samples_leaf=5, random_state=0)
models = {
    "a forest for each shop": PerTask(forest, task=-1),
    "one forest, shops unknown": Pooled(forest, task=-1),
    "multi-task forest": MultiTaskExtraTreesRegressor(
        100, task=-1, task_split_prob=0.5, min_samples_leaf=5, random_state=0
    ),
}
sizes = [60, 120, 240, 480, 960]
scores = {
    name: [
        np.mean(
            [
                model.fit(*make_shops(n, seed=10 + repeat)).score(X_test, y_test)
                for repeat in range(5)
            ]
        )
        for n in sizes
    ]
    for name, model in models.items()
}

# %%
# Which shops are alike?
# ----------------------
# The affinity of the forest shows which shops it kept together: the two kinds of shops
# are two blocks.

import matplotlib.pyplot as plt

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for (name, curve), colour in zip(
    scores.items(), ["#0072b2", "#e69f00", "#009e73"], strict=True
):
    left.plot(np.divide(sizes, 6), curve, "o-", color=colour, label=name)
left.set(xscale="log", xlabel="training rows of each shop", ylabel="R² on new rows")
left.set_xticks(np.divide(sizes, 6), labels=[f"{n / 6:g}" for n in sizes])
left.minorticks_off()
left.legend(frameon=False)

affinity = models["multi-task forest"].task_affinity_
image = right.imshow(affinity, vmin=0, vmax=1, cmap="viridis")
right.set(title="share of task splits that keep two shops together")
right.set(xlabel="shop", ylabel="shop")
fig.colorbar(image, ax=right)
plt.show()
