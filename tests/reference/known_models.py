"""Classifiers and data whose scores are known before anything is run."""

import os
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin


def known_data(sizes=(40, 30, 20), seed=0):
    """Rows that carry their own answer (`hint`) and a place in 0..1 (`u`)."""
    rng = np.random.default_rng(seed)
    task = np.repeat([f"t{i}" for i in range(len(sizes))], sizes)
    n = len(task)
    frame = pd.DataFrame(
        {"hint": rng.permutation(np.arange(n) % 2), "u": rng.random(n), "task": task}
    )
    frame = frame.sample(frac=1, random_state=seed).reset_index(drop=True)
    return frame, frame["hint"].to_numpy()


class Knower(ClassifierMixin, BaseEstimator):
    """Right on the rows whose `u` is below `right`, wrong on all others.

    `right` is a number, or a dict by task for one that sees the task column.
    Every fit appends a line to the file `log`.
    """

    def __init__(self, right=0.5, *, log=None, pause=0.0):
        self.right = right
        self.log = log
        self.pause = pause

    def fit(self, X, y):
        time.sleep(self.pause)
        if self.log is not None:
            with open(self.log, "a") as file:
                file.write(f"{os.getpid()} {len(y)}\n")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        hint, u = X["hint"].to_numpy(), X["u"].to_numpy()
        return np.where(u < self._share(X), hint, 1 - hint)

    def _share(self, X):
        return self.right

    def predict_proba(self, X):
        answer = self.predict(X)
        return np.column_stack([1.0 - answer, answer])


class TaskKnower(Knower):
    """A `Knower` that sees the task column."""

    def __init__(self, right=0.5, *, task=None, log=None, pause=0.0):
        super().__init__(right, log=log, pause=pause)
        self.task = task

    def _share(self, X):
        return X[self.task].map(self.right).to_numpy()


class Failing(Knower):
    """Fails on training sets in which some `u` is `right` or less."""

    def fit(self, X, y):
        if X["u"].min() <= self.right:
            raise ValueError("the smallest u is here")
        return super().fit(X, y)


class Noisy(Knower):
    """Warns in every fit."""

    def fit(self, X, y):
        warnings.warn("fitted with a warning", UserWarning, stacklevel=1)
        return super().fit(X, y)


class Dying(Knower):
    """Takes its process with it."""

    def fit(self, X, y):
        os._exit(3)
