"""
A comparison as charts and as a page
====================================

:func:`kinlearn.audit.compare_sharing` evaluates whether groups should share a model.
Here its result is drawn: chart by chart with matplotlib, and all of it as one HTML
file.
"""

# %%
# Ten clinics
# -----------
# Generated data: eight clinics are alike, Juniper treats other patients, and Larch
# records its outcome the wrong way round. A forest is evaluated in three forms: alone
# (one for each clinic), pooled (one for all) and with the clinic as one more column. A
# forest of multi-task trees learns what the clinics share.

from sklearn.ensemble import ExtraTreesClassifier

from kinlearn.audit import compare_sharing
from kinlearn.datasets import load_demo
from kinlearn.trees import MultiTaskExtraTreesClassifier

X, y = load_demo(as_frame=True, return_X_y=True)
result = compare_sharing(
    X,
    y,
    task="clinic",
    estimators={
        "forest": ExtraTreesClassifier(30, min_samples_leaf=3),
        "multi-task trees": MultiTaskExtraTreesClassifier(
            30, task="clinic", random_state=0
        ),
    },
    n_repeats=1,
)
print(result.verdict)

# %%
# Which model does best
# ---------------------
# Filled markers share, hollow ones do not. Bars are one standard error.

from kinlearn.report import LeaderboardDisplay

LeaderboardDisplay.from_result(result)

# %%
# Who gains and who loses
# -----------------------
# Right of the line sharing is better for the clinic, left of it worse. Few rows and a
# single repeat of the folds make wide intervals. For each clinic by itself the verdict
# is unclear, which is not the same as no difference.

from kinlearn.report import PerTaskGainDisplay

PerTaskGainDisplay.from_result(result)

# %%
# Which clinics the model treats alike
# ------------------------------------
# This is learned from the rows alone. Juniper and Larch stand apart.

from kinlearn.report import TaskAffinityDisplay

TaskAffinityDisplay.from_result(result)

# %%
# How many rows until sharing stops paying
# ----------------------------------------
# Each clinic in turn keeps 5, 10, 20, ... of its rows, the others keep all.

from kinlearn.report import RowsPerTaskDisplay

RowsPerTaskDisplay.from_result(result)

# %%
# All of it as a page
# -------------------
# One file, which opens without a network. It has these charts and more: distances
# between clinics, the numbers behind every chart, what was run, and how to get the
# winner.

from pathlib import Path
from tempfile import TemporaryDirectory

from kinlearn.report import write_page

with TemporaryDirectory() as folder:
    page = write_page(result, Path(folder) / "clinics.html")
    print(page.name, f"{page.stat().st_size / 1000:.0f} kB")
