"""Mixed models against lme4 and statsmodels.

One thread each, timed by the processor time of the process. lme4 runs in a process of
R's own and reports the processor time of its fit, without reading the data.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.speed.case import Limit, Seconds, Work, case, cpu_timed

NEEDS = ("kinlearn.linear",)
_R = """
suppressMessages(library(lme4))
data <- read.csv("{path}")
time <- system.time(suppressWarnings(fit <- {fit}))
cat("\\n", sum(time[1:2]), as.numeric(logLik(fit)), "\\n")
"""

_LMER = "lmer({formula}, data, control = lmerControl(calc.derivs = FALSE))"
_GLMER = "glmer({formula}, data, binomial)"


def _slopes(n_rows, n_tasks, n_slopes):
    """Tasks with intercepts and slopes; the task is the last column."""
    rng = np.random.default_rng(0)
    X = np.empty((n_rows, n_slopes + 1))
    X[:, :-1] = rng.normal(size=(n_rows, n_slopes))
    task = rng.integers(0, n_tasks, n_rows)
    X[:, -1] = task
    b = 0.5 * rng.normal(size=(n_tasks, n_slopes + 1))
    y = rng.normal(size=n_rows) + b[task, 0]
    for j in range(n_slopes):
        y += (1 + b[task, j + 1]) * X[:, j]
    return X, y


def _ratings():
    """73,000 ratings by 3,000 raters of 1,100 rated."""
    rng = np.random.default_rng(0)
    rater, rated = rng.integers(0, 3000, 73_000), rng.integers(0, 1100, 73_000)
    x = rng.normal(size=73_000)
    y = x + rng.normal(size=3000)[rater] + 0.7 * rng.normal(size=1100)[rated]
    return np.column_stack([x, rated, rater]), y + rng.normal(size=73_000)


def _pupils(n_rows=100_000, n_schools=300):
    """Pupils in classes in schools, some of them measured several times."""
    rng = np.random.default_rng(0)
    pupil = rng.integers(0, 100 * n_schools, n_rows)
    group = pupil % (20 * n_schools)
    school = group % n_schools
    x = rng.normal(size=n_rows)
    y = x + rng.normal(size=n_schools)[school] + 0.5 * rng.normal(size=n_rows)
    y += 0.5 * rng.normal(size=20 * n_schools)[group]
    y += 0.7 * rng.normal(size=100 * n_schools)[pupil]
    return np.column_stack([x, pupil, group, school]), y


def _ours(X, y, **options):
    from kinlearn.linear import MixedLinearRegressor

    return cpu_timed(lambda: MixedLinearRegressor(task=-1, **options).fit(X, y))


def _lme4(X, y, formula, fit=_LMER):
    """A fit by lme4, or nothing where there is no R with it."""
    R = shutil.which("Rscript")
    if R is None or subprocess.call([R, "-e", "library(lme4)"], stderr=-3, stdout=-3):
        return {}
    path = Path(tempfile.mkdtemp()) / "rows.csv"
    names = [*(f"x{j}" for j in range(X.shape[1])), "y"]
    np.savetxt(
        path, np.column_stack([X, y]), "%.10g", ",", header=",".join(names), comments=""
    )
    script = _R.format(path=path, fit=fit.format(formula=formula))

    def run():
        out = subprocess.run([R, "-e", script], capture_output=True, check=True)
        return Seconds(float(out.stdout.split()[-2]))

    return {"lme4": run}


def _statsmodels(X, y):
    from statsmodels.regression.mixed_linear_model import MixedLM

    F = np.column_stack([np.ones(len(y)), X[:, :-1]])
    model = MixedLM(y, F, groups=X[:, -1], exog_re=F)
    return cpu_timed(lambda: model.fit(reml=True))


@case("mixed-slopes", limit=Limit(times_faster=1.0), needs=NEEDS, repeats=1)
def mixed_slopes():
    """Intercept and 5 slopes, 100,000 rows, 1,000 tasks; lme4."""
    X, y = _slopes(100_000, 1_000, 5)
    slopes = " + ".join(f"x{j}" for j in range(5))
    formula = f"y ~ {slopes} + ({slopes} | x5)"
    return Work(ours=_ours(X, y, slopes="all"), peers=_lme4(X, y, formula))


@case(
    "mixed-statsmodels",
    limit=Limit(times_faster=10.0),
    needs=(*NEEDS, "statsmodels"),
)
def mixed_statsmodels():
    """Intercept and 2 slopes, 4,000 rows, 100 tasks; statsmodels."""
    X, y = _slopes(4_000, 100, 2)
    peers = {"statsmodels": _statsmodels(X, y)}
    return Work(ours=_ours(X, y, slopes="all"), peers=peers)


@case("mixed-crossed", limit=Limit(times_as_long=2.0), needs=NEEDS, repeats=1)
def mixed_crossed():
    """Crossed intercepts, 73,000 ratings by 3,000 raters of 1,100 rated; lme4."""
    X, y = _ratings()
    formula = "y ~ x0 + (1 | x1) + (1 | x2)"
    return Work(ours=_ours(X, y, groups=[-2]), peers=_lme4(X, y, formula))


@case("mixed-nested", limit=Limit(times_as_long=1.0), needs=NEEDS, repeats=1)
def mixed_nested():
    """Nested intercepts, 30,000 pupils in 6,000 classes in 300 schools; lme4."""
    X, y = _pupils()
    formula = "y ~ x0 + (1 | x1) + (1 | x2) + (1 | x3)"
    return Work(ours=_ours(X, y, groups=[-3, -2]), peers=_lme4(X, y, formula))


@case(
    "mixed-million",
    limit=Limit(seconds=60.0, memory_of_data=3.0),
    needs=NEEDS,
    memory=True,
)
def mixed_million():
    """Intercept and 2 slopes, 1,000,000 rows, 100,000 tasks, no peer."""
    X, y = _slopes(1_000_000, 100_000, 2)
    return Work(ours=_ours(X, y, slopes="all"), data_bytes=X.nbytes)


@case("mixed-logistic", limit=Limit(times_faster=5.0), needs=NEEDS, repeats=1)
def mixed_logistic():
    """Classes, intercept and 5 slopes, 10,000 rows, 500 tasks; lme4's glmer."""
    from kinlearn.linear import MixedLogisticClassifier

    X, score = _slopes(10_000, 500, 5)
    rng = np.random.default_rng(1)
    y = (score + rng.logistic(size=len(score)) > 0).astype(int)
    slopes = " + ".join(f"x{j}" for j in range(5))
    formula = f"y ~ {slopes} + ({slopes} | x5)"
    model = MixedLogisticClassifier(task=-1, slopes="all")
    return Work(
        ours=cpu_timed(lambda: model.fit(X, y)), peers=_lme4(X, y, formula, _GLMER)
    )
