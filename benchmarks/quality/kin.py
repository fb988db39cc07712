"""Problems, contenders and metrics of the Kin protocols.

Every contender gets the same rows, with the task as its last column. Kin, and our
extra trees, have nothing set but the task and the seed. All others are tuned by inner
cross-validation on the training rows of each split, in three folds, over at most nine
settings: boosters, forests and linear models of others (`benchmarks.quality.peers`),
CatBoost over the same rates and sizes of trees, our methods alone and the forms of each
family (`benchmarks.quality.kin_ours`). GPBoost searches by its own cross-validation,
over larger rates and up to 1,000 iterations: its steps for numbers are shorter by the
noise. MERF has no search: its forest has 300 trees and leaves of 5 rows.
"""

from functools import partial

import numpy as np

import kinlearn
from benchmarks.problems import problem
from benchmarks.quality.kin_ours import FORMS, OURS_ALONE
from benchmarks.quality.kin_suite import KINDS, make_tasks
from benchmarks.quality.ours import EXTRA_TREES, GRADIENT_BOOSTING, KIN
from benchmarks.quality.peers import LIGHTGBM_POOLED, PEERS, tuned
from benchmarks.quality.protocol import Contender, Metric

__all__ = [
    "CONTENDERS",
    "LOG_LOSS",
    "MADE",
    "MERF",
    "MORE_PEERS",
    "N_DRAWS",
    "REAL_SETS",
]

N_DRAWS = 10  # of made tasks: other slopes and other rows in each

# ------------------------------------------------------------------ the problems

REAL_SETS = {
    "wine": ("regression", "Wine quality, red and white"),
    "wine-distinct": ("regression", "Wine quality, red and white, no wine twice"),
    "abalone": ("regression", "Abalone by sex"),
    "auto-mpg": ("regression", "Auto MPG by origin"),
    "heart": ("classification", "Heart disease by sex"),
    "sentiment": ("classification", "Reviews of four domains, 50 components of TF-IDF"),
    "usps": ("classification", "USPS, each digit against the rest, 120 rows of each"),
    "mnist": ("classification", "MNIST, each digit against the rest, 120 rows of each"),
}
MADE = {
    f"{name.replace(' ', '-')}-{target}": (name, target)
    for name in KINDS
    for target in ("classification", "regression")
}


def _uci(kind, name, **options):
    """Complete rows: linear models take no others."""
    data = kinlearn.datasets.fetch_uci(name, **options)
    complete = np.isfinite(data.data).all(axis=1)
    return kind, data.data[complete], data.target[complete]


problem("kin:wine")(partial(_uci, "regression", "wine_quality"))


@problem("kin:wine-distinct")
def distinct_wines():
    """Without repeated rows: 16% of the other's test rows are training rows too."""
    kind, X, y = _uci("regression", "wine_quality")
    first = np.sort(np.unique(np.c_[X, y], axis=0, return_index=True)[1])
    return kind, X[first], y[first]


problem("kin:abalone")(partial(_uci, "regression", "abalone"))
problem("kin:auto-mpg")(partial(_uci, "regression", "auto_mpg", group="origin"))
problem("kin:heart")(partial(_uci, "classification", "heart"))


@problem("kin:sentiment")
def sentiment(n_components=50):
    """The training part, reduced without a look at its labels."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    data = kinlearn.datasets.fetch_sentiment(subset="train")
    table = data.data.tocsc()
    task = table[:, [-1]].toarray().ravel().astype(int)
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(table[:, :-1])
    reduced = TruncatedSVD(n_components, random_state=0).fit_transform(weighted)
    return "classification", kinlearn.with_task(reduced, task), data.target


def _digits(fetch, n_components=30):
    from sklearn.decomposition import PCA

    data = getattr(kinlearn.datasets, fetch)(
        subset="train", tasks=range(10), n_samples_per_task=120, random_state=0
    )
    X = np.asarray(data.data, dtype=float)
    reduced = PCA(n_components, random_state=0).fit_transform(X[:, :-1])
    X = kinlearn.with_task(reduced, X[:, -1].astype(int))
    return "classification", X, np.unique(data.target, return_inverse=True)[1]


problem("kin:usps")(partial(_digits, "fetch_usps"))
problem("kin:mnist")(partial(_digits, "fetch_mnist"))


def _made(name, target):
    """Draws one after another, in each the rows to train on before those to test on."""
    draws = [make_tasks(name, target, seed, curved=True) for seed in range(N_DRAWS)]
    X = np.vstack([part for made in draws for part in (made.X, made.X_test)])
    y = np.concatenate([part for made in draws for part in (made.y, made.y_test)])
    return target, X, y


for _key, (_name, _target) in MADE.items():
    problem(f"kin:{_key}")(partial(_made, _name, _target))

# ---------------------------------------------------------------------- the peers


def catboost(problem, seed, *, iterations, rates, depths):
    """CatBoost with the task as a category."""
    from catboost import CatBoostClassifier, CatBoostRegressor
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    classes = problem.kind == "classification"
    booster = CatBoostClassifier if classes else CatBoostRegressor
    place = problem.n_features

    # CatBoost wants categories as integers or strings, which an array of floats lacks.
    class WithTask(ClassifierMixin if classes else RegressorMixin, BaseEstimator):
        def __init__(self, learning_rate=0.1, depth=6):
            self.learning_rate = learning_rate
            self.depth = depth

        def _frame(self, X):
            import pandas as pd

            frame = pd.DataFrame(X)
            frame[place] = frame[place].astype(int)
            return frame

        def fit(self, X, y):
            self.model_ = booster(
                iterations=iterations,
                learning_rate=self.learning_rate,
                depth=self.depth,
                random_seed=seed,
                thread_count=1,
                verbose=False,
                allow_writing_files=False,
            ).fit(self._frame(X), y, cat_features=[place])
            if classes:
                self.classes_ = self.model_.classes_
            return self

        def predict(self, X):
            return self.model_.predict(self._frame(X)).ravel()

        if classes:

            def predict_proba(self, X):
                return self.model_.predict_proba(self._frame(X))

    return tuned(problem, seed, WithTask(), {"learning_rate": rates, "depth": depths})


class _Merf:
    """A forest with a random intercept for each task."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X, y):
        import logging

        import pandas as pd
        from merf import MERF
        from sklearn.ensemble import RandomForestRegressor

        logging.getLogger("merf.merf").setLevel(logging.WARNING)
        forest = RandomForestRegressor(
            300, min_samples_leaf=5, random_state=self.seed, n_jobs=1
        )
        self.model = MERF(fixed_effects_model=forest, max_iterations=10)
        ones = np.ones((len(X), 1))
        self.model.fit(X[:, :-1], ones, pd.Series(X[:, -1].astype(int)), y)
        return self

    def predict(self, X):
        import pandas as pd

        ones = np.ones((len(X), 1))
        return self.model.predict(X[:, :-1], ones, pd.Series(X[:, -1].astype(int)))


def merf(problem, seed):
    """MERF: mixed effects, with a forest for the fixed ones."""
    return _Merf(seed)


class _GPBoost:
    """Boosted trees with a random intercept for each task."""

    def __init__(self, classes, seed, iterations, rates, leaf_nodes):
        self.classes, self.seed = classes, seed
        self.iterations, self.rates, self.leaf_nodes = iterations, rates, leaf_nodes

    def fit(self, X, y):
        import gpboost

        group = X[:, -1].astype(int)
        likelihood = "bernoulli_logit" if self.classes else "gaussian"
        model = gpboost.GPModel(group_data=group, likelihood=likelihood)
        fixed = {"verbose": -1, "num_threads": 1, "seed": self.seed}
        found = gpboost.grid_search_tune_parameters(
            param_grid={"learning_rate": self.rates, "num_leaves": self.leaf_nodes},
            params=fixed,
            nfold=3,
            gp_model=model,
            train_set=gpboost.Dataset(X[:, :-1], y),
            num_boost_round=self.iterations,
            early_stopping_rounds=20,
            verbose_eval=0,
            seed=self.seed,
        )
        self.model = gpboost.train(
            params={**fixed, **found["best_params"]},
            train_set=gpboost.Dataset(X[:, :-1], y),
            gp_model=gpboost.GPModel(group_data=group, likelihood=likelihood),
            num_boost_round=found["best_iter"],
        )
        return self

    def _answer(self, X):
        group = X[:, -1].astype(int)
        return self.model.predict(
            data=X[:, :-1], group_data_pred=group, pred_latent=False
        )["response_mean"]

    def predict(self, X):
        return self._answer(X)

    def predict_proba(self, X):
        p = self._answer(X)
        return np.column_stack([1 - p, p])


def gpboost_(problem, seed, **grid):
    """GPBoost with a random intercept for each task."""
    return _GPBoost(problem.kind == "classification", seed, **grid)


_GRID = {"iterations": 200, "rates": [0.02, 0.05, 0.1]}
MORE_PEERS = (
    LIGHTGBM_POOLED,
    Contender(
        "catboost",
        catboost,
        {**_GRID, "depths": [2, 4, 6]},
        packages=("catboost",),
        needs=("catboost",),
    ),
    Contender(
        "gpboost",
        gpboost_,
        {"iterations": 1_000, "rates": [0.03, 0.1, 0.3], "leaf_nodes": [4, 8, 31]},
        packages=("gpboost",),
        needs=("gpboost",),
    ),
)
MERF = Contender("merf", merf, packages=("merf",), needs=("merf",))
CONTENDERS = {
    "both": (
        KIN,
        EXTRA_TREES,
        GRADIENT_BOOSTING,
        *OURS_ALONE["both"],
        *PEERS,
        *FORMS,
        *MORE_PEERS,
    ),
    "classification": OURS_ALONE["classification"],
    "regression": (MERF,),
}


def _log_loss(y, prediction, task):
    from sklearn.metrics import log_loss

    return log_loss(y, prediction)


LOG_LOSS = Metric("log_loss", "log loss", _log_loss, greater_is_better=False)
