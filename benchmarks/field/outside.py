"""Contenders in programs of their own: R's lme4, and AutoGluon.

Rows go to the program as a table, and its predictions come back as one. What is not
installed is left out, with a message. AutoGluon has an interpreter of its own, since it
asks for other versions of the common packages: the variable ``AUTOGLUON_PYTHON``.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.registry import BenchmarkError

__all__ = ["autogluon", "lacks_autogluon", "lacks_lme4", "lme4", "versions_of"]

_LME4 = """
suppressMessages(library(lme4))
train <- read.csv("train.csv"); test <- read.csv("test.csv")
train$group <- factor(train$group); test$group <- factor(test$group)
features <- setdiff(names(train), c("y", "group"))
formula <- as.formula(paste("y ~", paste(c(features, "(1 | group)"), collapse = "+")))
if (readLines("kind.txt") == "regression") {
  model <- lmer(formula, train)
} else {
  model <- glmer(formula, train, family = binomial)
}
found <- predict(model, test, allow.new.levels = TRUE, type = "response")
write.table(found, "found.csv", row.names = FALSE, col.names = FALSE)
"""

_AUTOGLUON = """
import sys, numpy as np, pandas as pd
from autogluon.tabular import TabularPredictor
train, test = (pd.read_csv(f"{name}.csv") for name in ("train", "test"))
for each in (train, test):
    each["group"] = each["group"].astype(str).astype("category")
kind = open("kind.txt").read().strip()
problem = "regression" if kind == "regression" else "binary"
metric = "r2" if kind == "regression" else "roc_auc"
model = TabularPredictor("y", problem_type=problem, eval_metric=metric, path="models",
                         verbosity=0)
model.fit(train, time_limit=float(sys.argv[1]), presets="good_quality", num_cpus=1,
          dynamic_stacking=False, raise_on_no_models_fitted=True)
test = test.drop(columns="y")
found = model.predict(test) if kind == "regression" else model.predict_proba(test)[1]
np.savetxt("found.csv", np.asarray(found, dtype=float))
"""


class _Outside:
    """Keeps the training rows; the program is called when test rows are there."""

    def __init__(self, command, script, kind):
        self.command, self.script, self.kind = command, script, kind

    def fit(self, X, y):
        scale = X[:, :-1].std(axis=0)
        self.varies = scale > 0
        self.scale, self.mean = scale[self.varies], X[:, :-1].mean(axis=0)[self.varies]
        self.X, self.y = X, y
        return self

    def _table(self, path, X, y):
        features = (X[:, :-1][:, self.varies] - self.mean) / self.scale
        names = [*(f"x{j}" for j in range(features.shape[1])), "group", "y"]
        np.savetxt(
            path,
            np.column_stack([features, X[:, -1], y]),
            delimiter=",",
            header=",".join(names),
            comments="",
        )

    def score_values(self, X):
        with tempfile.TemporaryDirectory(prefix="kinlearn-") as folder:
            here = Path(folder)
            self._table(here / "train.csv", self.X, self.y)
            self._table(here / "test.csv", X, np.zeros(len(X)))
            (here / "kind.txt").write_text(self.kind + "\n")
            (here / "script").write_text(self.script)
            done = subprocess.run(
                self.command, cwd=here, capture_output=True, text=True, check=False
            )
            if done.returncode:
                why = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise BenchmarkError(f"{self.command[0]} failed: {why}")
            return np.loadtxt(here / "found.csv")


def lme4(kind, seed):
    """lme4 through R: linear, or logistic, with a random intercept for each group."""
    return _Outside(["Rscript", "--vanilla", "script"], _LME4, kind)


def autogluon(kind, seed, *, seconds):
    """AutoGluon's "good quality" within some seconds, the group a category."""
    python = os.environ["AUTOGLUON_PYTHON"]
    return _Outside([python, "script", str(seconds)], _AUTOGLUON, kind)


@cache
def _r_versions():
    """Versions of R and lme4; empty without them."""
    if shutil.which("Rscript") is None:
        return {}
    code = "cat(paste0(R.version$major, '.', R.version$minor), "
    code += "as.character(packageVersion('lme4')))"
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", code],
        capture_output=True,
        text=True,
        check=False,
    )
    found = done.stdout.split()
    return dict(zip(("R", "lme4"), found, strict=True)) if len(found) == 2 else {}


@cache
def _autogluon_versions():
    """Version of AutoGluon; empty without it."""
    python = os.environ.get("AUTOGLUON_PYTHON", sys.executable)
    code = "import json; from importlib.metadata import version; "
    code += "print(json.dumps({'autogluon': version('autogluon.tabular')}))"
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=False
    )
    return {} if done.returncode else json.loads(done.stdout)


def lacks_lme4():
    """What must be installed for `lme4`; empty if it is there."""
    return "" if _r_versions() else "R with its package lme4"


def lacks_autogluon():
    """What must be installed for `autogluon`; empty if it is there."""
    if "AUTOGLUON_PYTHON" in os.environ and _autogluon_versions():
        return ""
    return "an interpreter with autogluon.tabular, named by AUTOGLUON_PYTHON"


def versions_of(make):
    """Versions of what a contender of this module calls."""
    found = {lme4: _r_versions, autogluon: _autogluon_versions}
    return found[make]() if make in found else {}
