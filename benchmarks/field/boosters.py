"""Boosted trees of others, all with the same effort.

Each has a learning rate of 0.05 (ChimeraBoost chooses its own) and up to 1,000 rounds,
stopped after 50 without gain on a fifth of the training rows, drawn at random; all else
is as by default. X has the group's code as the last column.
"""

import numpy as np

__all__ = ["catboost", "chimeraboost", "gpboost", "hist_boosting", "lightgbm"]

_RATE, _ROUNDS, _PATIENCE, _HELD_OUT = 0.05, 1_000, 50, 0.2
_MOST_CATEGORIES, _MOST_GROUPS = 255, 10_000  # the first: of scikit-learn's boosting


def _parts(X, y, kind, seed):
    """Rows to learn from and to stop by."""
    from sklearn.model_selection import train_test_split

    classes = y if kind == "classification" else None
    return train_test_split(
        X, y, test_size=_HELD_OUT, random_state=seed, stratify=classes
    )


def hist_boosting(kind, seed, *, group):
    """scikit-learn's boosting over histograms; a number where groups are too many.

    Numbers are drawn: their order in the file may tell the target, as it does in ohio.
    """
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )

    boosting = {
        "regression": HistGradientBoostingRegressor,
        "classification": HistGradientBoostingClassifier,
    }[kind]

    numbers = np.random.RandomState(0).permutation(_MOST_GROUPS)

    class Booster:
        def _features(self, X):
            if group == "drop":
                return X[:, :-1]
            if self.category:
                return X
            return np.column_stack([X[:, :-1], numbers[X[:, -1].astype(int)]])

        def fit(self, X, y):
            few = X[:, -1].max() < _MOST_CATEGORIES
            self.category = group == "category" and few
            self.model = boosting(
                learning_rate=_RATE,
                max_iter=_ROUNDS,
                early_stopping=True,
                n_iter_no_change=_PATIENCE,
                validation_fraction=_HELD_OUT,
                categorical_features=[X.shape[1] - 1] if self.category else None,
                random_state=seed,
            ).fit(self._features(X), y)
            return self

        def score_values(self, X):
            X = self._features(X)
            if kind == "regression":
                return self.model.predict(X)
            return self.model.predict_proba(X)[:, 1]

    return Booster()


def lightgbm(kind, seed):
    """LightGBM, the group a category."""
    from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

    booster = LGBMRegressor if kind == "regression" else LGBMClassifier

    class Booster:
        def fit(self, X, y):
            X, held, y, y_held = _parts(X, y, kind, seed)
            self.model = booster(
                n_estimators=_ROUNDS,
                learning_rate=_RATE,
                random_state=seed,
                n_jobs=1,
                verbose=-1,
            ).fit(
                X,
                y,
                eval_set=[(held, y_held)],
                categorical_feature=[X.shape[1] - 1],
                callbacks=[early_stopping(_PATIENCE, verbose=False)],
            )
            return self

        def score_values(self, X):
            return self.model.predict(X, raw_score=True)

    return Booster()


def catboost(kind, seed):
    """CatBoost, the group a category."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    booster = CatBoostRegressor if kind == "regression" else CatBoostClassifier

    class Booster:
        def _frame(self, X):
            import pandas as pd

            frame = pd.DataFrame(X)
            return frame.astype({X.shape[1] - 1: int})

        def fit(self, X, y):
            X, held, y, y_held = _parts(X, y, kind, seed)
            self.model = booster(
                iterations=_ROUNDS,
                learning_rate=_RATE,
                early_stopping_rounds=_PATIENCE,
                random_seed=seed,
                thread_count=1,
                verbose=False,
                allow_writing_files=False,
            ).fit(
                self._frame(X),
                y,
                eval_set=(self._frame(held), y_held),
                cat_features=[X.shape[1] - 1],
            )
            return self

        def score_values(self, X):
            return self.model.predict(self._frame(X), prediction_type="RawFormulaVal")

    return Booster()


def gpboost(kind, seed):
    """GPBoost with a random intercept for each group."""
    import gpboost as package

    likelihood = "gaussian" if kind == "regression" else "bernoulli_logit"

    class Booster:
        def fit(self, X, y):
            X, held, y, y_held = _parts(X, y, kind, seed)
            model = package.GPModel(
                group_data=X[:, -1].astype(int), likelihood=likelihood
            )
            model.set_prediction_data(group_data_pred=held[:, -1].astype(int))
            train = package.Dataset(X[:, :-1], y)
            self.model = package.train(
                params={
                    "learning_rate": _RATE,
                    "verbose": -1,
                    "num_threads": 1,
                    "seed": seed,
                },
                train_set=train,
                gp_model=model,
                num_boost_round=_ROUNDS,
                valid_sets=train.create_valid(held[:, :-1], y_held),
                early_stopping_rounds=_PATIENCE,
                use_gp_model_for_validation=True,
                verbose_eval=False,
            )
            return self

        def score_values(self, X):
            found = self.model.predict(
                data=X[:, :-1],
                group_data_pred=X[:, -1].astype(int),
                pred_latent=False,
            )
            return np.asarray(found["response_mean"])

    return Booster()


def chimeraboost(kind, seed, *, group):
    """ChimeraBoost, the group a category or with random intercepts.

    These are of its regression alone, and fitted to classes as 0 and 1.
    """
    from chimeraboost import ChimeraBoostClassifier, ChimeraBoostRegressor, warmup

    warmup()  # compiled before the time is taken
    options = {"random_state": seed, "thread_count": 1, "n_ensembles": 1}

    class WithCategory:
        def fit(self, X, y):
            regression = kind == "regression"
            booster = ChimeraBoostRegressor if regression else ChimeraBoostClassifier
            self.model = booster(**options).fit(X, y, cat_features=[X.shape[1] - 1])
            return self

        def score_values(self, X):
            if kind == "regression":
                return self.model.predict(X)
            return self.model.predict_proba(X)[:, 1]

    class WithIntercepts:
        def fit(self, X, y):
            model = ChimeraBoostRegressor(random_effects=True, **options)
            groups = X[:, -1].astype(int)
            self.model = model.fit(X[:, :-1], y.astype(float), groups=groups)
            return self

        def score_values(self, X):
            return self.model.predict(X[:, :-1], groups=X[:, -1].astype(int))

    return WithCategory() if group == "category" else WithIntercepts()
