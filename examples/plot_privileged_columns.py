"""
A column that exists only in training
=====================================

A clinic diagnoses from ten measurements. For old cases the files also say, in
hindsight, how typical each case was of its diagnosis; for a new patient nobody knows
that yet. :class:`kinlearn.svm.SVMPlusClassifier` learns from such a *privileged* column
and does without it in prediction.
"""

# %%
# Cases
# -----
# The diagnosis is noisy, and at times wrong. The rating is high for typical cases and
# negative where the diagnosis does not fit.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.svm import SVC

from kinlearn.svm import SVMPlusClassifier


def make_cases(n, rng):
    x = rng.normal(size=(n, 10))
    truth = x[:, :3].sum(axis=1) / np.sqrt(3)
    diagnosis = truth + rng.normal(scale=0.7, size=n) > 0
    sign = np.where(diagnosis, 1, -1)
    cases = pd.DataFrame(x, columns=[f"m{j}" for j in range(10)])
    cases["rating"] = sign * truth + rng.normal(scale=0.2, size=n)
    cases["chance"] = rng.normal(size=n)  # not informative
    return cases, diagnosis, truth > 0


cases, diagnosis, truth = make_cases(80, np.random.default_rng(4))
print(f"{np.mean(diagnosis != truth):.0%} of the diagnoses are wrong")

# %%
# Learn with the rating, predict without
# --------------------------------------
# Nothing of the rating is needed for new patients. ``correcting_values_`` is how hard
# each old case was by the privileged view.

measured = [f"m{j}" for j in range(10)]
model = SVMPlusClassifier(kernel="linear", correction_kernel="rbf", privileged="rating")
model.fit(cases[[*measured, "rating"]], diagnosis)
new, _, new_truth = make_cases(2000, np.random.default_rng(1))
plain = SVC(kernel="linear").fit(cases[measured], diagnosis)
print(f"plain SVM: {plain.score(new[measured], new_truth):.1%} right")
print(f"SVM+:      {model.score(new[measured], new_truth):.1%} right")

# %%
# How much is it worth?
# ---------------------
# The mean over ten draws, by number of old cases. A privileged column that is
# not informative does harm: SVM+ assumes that errors depend on it. Compare with a plain
# SVM, as :func:`kinlearn.svm.tune_in_two_stages` does.

sizes = [20, 40, 80, 160]
models = {
    "SVM+ with the rating": (SVMPlusClassifier, "rating"),
    "plain SVM": (SVC, None),
    "SVM+ with chance": (SVMPlusClassifier, "chance"),
}
right = {name: np.zeros(len(sizes)) for name in models}
for draw in range(10):
    old, old_y, _ = make_cases(max(sizes), np.random.default_rng(10 + draw))
    for s, size in enumerate(sizes):
        for name, (kind, column) in models.items():
            extra = {} if column is None else {"privileged": column}
            columns = measured if column is None else [*measured, column]
            if column is not None:
                extra["correction_kernel"] = "rbf"
            each = kind(kernel="linear", **extra)
            each.fit(old[columns][:size], old_y[:size])
            right[name][s] += each.score(new[measured], new_truth) / 10

colours = {
    "SVM+ with the rating": "#0072b2",
    "plain SVM": "#555555",
    "SVM+ with chance": "#d55e00",
}
figure, (left, other) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, curve in right.items():
    left.plot(sizes, 100 * curve, "o-", color=colours[name])
    left.annotate(
        name,
        (sizes[-1], 100 * curve[-1]),
        xytext=(8, -4),
        textcoords="offset points",
        color=colours[name],
    )
left.set_xscale("log")
left.set_xlim(18, 420)  # room for the names
left.set_xticks(sizes, [str(s) for s in sizes])
left.minorticks_off()
left.set(xlabel="old cases", ylabel="new patients right, %", title="What it is worth")

wrong = diagnosis != truth
for rows, label, colour in (
    (~wrong, "right diagnosis", "#0072b2"),
    (wrong, "wrong diagnosis", "#d55e00"),
):
    other.scatter(
        cases["rating"][rows], model.correcting_values_[rows], color=colour, label=label
    )
other.axhline(1, color="#999999", linewidth=0.8, zorder=0)
other.annotate(
    "above, an error was expected",
    (0.55, 1),
    xytext=(0, 4),
    textcoords="offset points",
    color="#555555",
)
other.set(
    xlabel="rating of an old case",
    ylabel="correcting value",
    title="Which old cases were hard",
)
other.legend(frameon=False)
for axes in (left, other):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
