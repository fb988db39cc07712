"""
How sure is a prediction, and why?
==================================

Ten clinics, whose patients are not equally hard to predict. Intervals of
:class:`~kinlearn.KinRegressor` hold the truth in each of them.
"""

# %%
# A third of the rows is kept aside.

import numpy as np

from kinlearn import KinRegressor
from kinlearn.datasets import load_demo
from kinlearn.report import CalibrationDisplay, CoverageDisplay, ExplanationDisplay

X, y = load_demo("regression", as_frame=True, return_X_y=True)
new = np.random.default_rng(0).random(len(y)) < 1 / 3
model = KinRegressor(task="clinic", effort="fast", random_state=0)
model.fit(X[~new], y[~new])

# %%
# Is the truth inside?
# --------------------
# The line is what was asked for. A clinic's interval tells how much its rows can say.

CoverageDisplay.from_estimator(model, X[new], y[new], level=0.9)

# %%
# Widths differ: the patients of one clinic react the other way round.

model.coverage(X[new], y[new], level=0.9).to_frame().round(2)

# %%
# Are predictions right in the mean?
# ----------------------------------
# A clinic whose mean target is clearly off its mean prediction has its name.

CalibrationDisplay.from_estimator(model, X[new], y[new])

# %%
# Why this prediction?
# --------------------
# What each column and the clinic add, from the mean of typical rows to the prediction.

ExplanationDisplay.from_estimator(model, X[new].head(1))
