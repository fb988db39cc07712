"""
Which tasks are alike?
======================

Before sharing between groups it helps to see which of them look alike.
:func:`kinlearn.relatedness.task_distances` measures how far apart the groups are, and
:class:`kinlearn.report.TaskDistanceDisplay` draws it. This page also shows what such
distances do not see.
"""

# %%
# Twelve weather stations
# -----------------------
# Generated data: four stations on the coast, five inland and three in the mountains.
# The region is not a column; it shows in the measurements only.

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
regions = {
    "coast": ["Ainsdale", "Formby", "Hoylake", "Southport"],
    "inland": ["Crewe", "Leek", "Nantwich", "Stone", "Uttoxeter"],
    "mountain": ["Blencathra", "Helvellyn", "Scafell"],
}
# temperature, humidity, wind: mean and standard deviation
weather = {
    "coast": ([11.0, 82.0, 22.0], [4.0, 7.0, 9.0]),
    "inland": ([10.5, 76.0, 12.0], [6.5, 10.0, 6.0]),
    "mountain": ([4.0, 88.0, 34.0], [6.0, 7.0, 14.0]),
}


def measure(station, region, n_days):
    mean, deviation = weather[region]
    days = pd.DataFrame(
        rng.normal(mean, deviation, size=(n_days, 3)),
        columns=["temperature", "humidity", "wind"],
    )
    return days.assign(station=station)


X = pd.concat(
    [measure(s, region, 150) for region, names in regions.items() for s in names],
    ignore_index=True,
)
X.sample(5, random_state=0)

# %%
# A map of distances
# ------------------
# The Kolmogorov-Smirnov statistic compares one feature at a time; here is its mean over
# the three. The display puts similar stations side by side, and the regions stand out
# as dark blocks.

from kinlearn.relatedness import task_distances
from kinlearn.report import TaskDistanceDisplay

distances = task_distances(X, task="station", method="ks")
TaskDistanceDisplay.from_distances(distances)

# %%
# The numbers are there by name.

print("Leek to Stone:  ", round(distances["Leek", "Stone"], 2))
print("Leek to Scafell:", round(distances["Leek", "Scafell"], 2))
print("nearest to Formby:", *distances.nearest("Formby", n=3))

# %%
# Few rows look far away
# ----------------------
# Two samples of one distribution differ by chance, the more so the smaller they are. We
# draw twenty stations from the *same* region, with few days and with many. KS and
# Hellinger see stations of few days far apart. The unbiased MMD does not: its square is
# 0 on average, whatever the size.

import matplotlib.pyplot as plt

sizes = [10, 20, 40, 80, 160, 320]
measured = {"ks": [], "hellinger": [], "mmd": []}
for n_days in sizes:
    same = pd.concat([measure(s, "inland", n_days) for s in range(20)])
    for method, medians in measured.items():
        found = task_distances(same, task="station", method=method, random_state=0)
        medians.append(np.median(found.values[np.triu_indices(20, k=1)]))

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for (method, medians), marker in zip(measured.items(), "os^", strict=True):
    ax.plot(sizes, medians, marker=marker, label=method)
ax.set(
    xscale="log",
    xticks=sizes,
    xticklabels=sizes,
    xlabel="days per station",
    ylabel="median distance\nof equal stations",
)
ax.minorticks_off()
ax.legend(frameon=False)

# %%
# Alike is not the same as related
# --------------------------------
# All clinics of the demonstration data see the same kind of patients, so every distance
# between features calls them near. But Larch records its outcome the wrong way round:
# the model of another clinic does worse there than a coin.

from sklearn.ensemble import ExtraTreesClassifier

from kinlearn.datasets import load_demo

demo = load_demo(as_frame=True)
clinics = task_distances(demo.data, task="clinic", method="mmd", random_state=0)
features = demo.data.drop(columns="clinic")
of = {clinic: demo.data["clinic"] == clinic for clinic in ("Alder", "Birch", "Larch")}
model = ExtraTreesClassifier(random_state=0).fit(
    features[of["Alder"]], demo.target[of["Alder"]]
)
for clinic in ("Birch", "Larch"):
    accuracy = model.score(features[of[clinic]], demo.target[of[clinic]])
    print(f"Alder to {clinic}: distance {clinics['Alder', clinic]:.3f},", end=" ")
    print(f"accuracy of Alder's model there {accuracy:.2f}")

# %%
# Distances are a first look. Whether sharing helps is a question about predictions, for
# :func:`kinlearn.audit.compare_sharing`.
