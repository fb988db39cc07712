"""
Should these clinics share a model?
===================================

Ten clinics want to know who will be readmitted. Some have 300 patients, some half of
that. Is one model for all better than one for each, and for whom?
"""

# %%
# Compare for each clinic
# -----------------------
# A forest, alone and shared, and a multi-task forest, all on the same folds.

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
        "forest": ExtraTreesClassifier(50, min_samples_leaf=3),
        "multi-task trees": MultiTaskExtraTreesClassifier(50, task="clinic"),
    },
    n_repeats=2,
)
print(result)

# %%
# Who is helped, who is hurt?
# ---------------------------
# A line is a 95% interval, corrected for folds that overlap. The clinics that are alike
# gain most. Juniper has other patients, and Larch records the outcome the wrong way
# round: they have nothing to gain. On the right the training rows of some clinics are
# cut down while the others keep theirs: borrowing pays all along, and most for a clinic
# with a few rows.

import matplotlib.pyplot as plt

data = result.to_dict()
gains = sorted(data["gains"], key=lambda gain: gain["gain"])
colours = {"helped": "#009e73", "hurt": "#d55e00", "unclear": "#888888"}

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for place, gain in enumerate(gains):
    colour = colours[gain["verdict"]]
    if gain["low"] is not None:
        left.plot([gain["low"], gain["high"]], [place, place], color=colour)
    left.plot(gain["gain"], place, "o", color=colour)
left.axvline(0, color="black", linewidth=0.8)
left.set_yticks(
    range(len(gains)), labels=[f"{gain['task']} ({gain['n_rows']})" for gain in gains]
)
left.set(xlabel="gain in AUC by sharing", title="Clinics (patients)")

curve = data["curve"]
for line, colour in zip(curve["lines"], ["#0072b2", "#e69f00"], strict=True):
    right.plot(curve["rows"], line["mean"], "o-", color=colour, label=line["contender"])
right.set(xscale="log", xlabel="training rows of a clinic", ylabel="AUC")
right.set_xticks(curve["rows"], labels=curve["rows"])
right.minorticks_off()
right.legend(frameon=False)
plt.show()
