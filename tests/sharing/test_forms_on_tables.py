"""Forms of estimators that know nothing of kinlearn, on tables of mixed columns."""

import types
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import kinlearn
from kinlearn.exceptions import UnusedColumnWarning
from kinlearn.sharing import PerTask, Pooled, SharedPlusOwn, TaskAsFeature
from kinlearn.svm import MultiTaskSVC, SVMPlusClassifier
from kinlearn.transfer import AuxiliaryOverSampler
from kinlearn.trees import MultiTaskExtraTreesClassifier

N = 240
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=N),
        "colour": RNG.choice(list("abcd"), N),
        "day": pd.date_range("2024-01-01", periods=N).astype(str),
        "town": [f"t{i}" for i in RNG.integers(0, 40, N)],
        "g": RNG.choice(["u", "v", "w"], N),
    }
)
FRAME.loc[3, ["size", "colour"]] = None
Y = (FRAME["colour"].isin(["a", "b"]) ^ (RNG.random(N) < 0.1)).to_numpy().astype(int)
NEW = FRAME.head(5).assign(colour="never seen", day="2031-01-01")
PLAIN = [
    LogisticRegression(),
    RandomForestClassifier(10, random_state=0),
    HistGradientBoostingClassifier(max_iter=10),
    GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
]


@pytest.mark.parametrize("form", [PerTask, Pooled, TaskAsFeature])
@pytest.mark.parametrize("inner", PLAIN, ids=lambda e: type(e).__name__)
def test_plain_estimators_learn_from_words(form, inner):
    model = form(clone(inner), task="g").fit(FRAME, Y)
    assert model.score(FRAME, Y) > 0.85
    assert np.isfinite(model.predict_proba(NEW)).all()
    other = form(clone(inner), task="g").fit(pl.from_pandas(FRAME), Y)
    assert_array_equal(other.predict(pl.from_pandas(FRAME)), model.predict(FRAME))


def test_each_task_is_encoded_by_its_own_rows():
    frame = pd.DataFrame(
        {"c": ["x", "y"] * 10 + ["p", "q"] * 10, "g": ["u"] * 20 + ["v"] * 20}
    )
    model = PerTask(LogisticRegression(), task="g").fit(frame, [0, 1] * 20)
    names = [one["table"].get_feature_names_out().tolist() for one in model.estimators_]
    assert names == [["c=x", "c=y"], ["c=p", "c=q"]]


def test_estimators_that_read_tables_get_them_as_they_are():
    reader = make_pipeline(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        RandomForestClassifier(5, random_state=0),
    )
    frame = FRAME[["colour", "town", "g"]].fillna("none")
    model = Pooled(reader, task="g").fit(frame, Y)
    assert model.table_encoder_ is None
    assert model.estimator_.feature_names_in_.tolist() == ["colour", "town"]
    inner = MultiTaskExtraTreesClassifier(5, random_state=0)
    assert Pooled(inner, task="g").fit(frame, Y).table_encoder_ is None


def test_boosting_splits_categories_natively():
    model = TaskAsFeature(HistGradientBoostingClassifier(max_iter=5), task="g")
    model.fit(FRAME, Y)
    encoder = model.table_encoder_
    expected = [*encoder.categorical_, True]  # the task is the last
    assert_array_equal(model.estimator_.is_categorical_, expected)
    few = HistGradientBoostingClassifier(max_iter=5, max_bins=8)
    few = Pooled(few, task="g").fit(FRAME, Y)  # 40 towns do not fit into 8 bins
    names = few.table_encoder_.get_feature_names_out()
    assert names[few.estimator_.is_categorical_].tolist() == ["colour"]


def _booster(package, **init):
    """An estimator whose class says that it comes from a package."""

    class Booster(ClassifierMixin, BaseEstimator):
        __module__ = f"{package}.sklearn"

        def fit(self, X, y, **params):
            self.X_, self.params_, self.classes_ = X, params, np.unique(y)
            return self

        def predict(self, X):
            self.new_ = X
            return np.full(len(X), self.classes_[0])

    names = list(init)
    source = f"def __init__(self, *, {', '.join(f'{n}=None' for n in names)}):\n"
    source += "".join(f"    self.{n} = {n}\n" for n in names)
    scope: dict = {}
    exec(source, scope)  # get_params reads the signature
    Booster.__init__ = types.FunctionType(scope["__init__"].__code__, scope, "__init__")
    Booster.__init__.__kwdefaults__ = dict.fromkeys(names)
    return Booster(**init)


@pytest.mark.parametrize("as_frame", [True, False])
def test_lightgbm_gets_the_task_as_a_category(as_frame):
    X = FRAME[["size", "g"]].fillna(0)
    if not as_frame:
        X = np.column_stack([X["size"], pd.factorize(X["g"])[0]])
    model = TaskAsFeature(_booster("lightgbm", depth=1), task="g" if as_frame else -1)
    model.fit(X, Y)
    assert model.encoding_ == "category"
    assert model.estimator_.X_.shape == (N, 2)
    assert model.estimator_.params_ == {"categorical_feature": [1]}
    one = X.iloc[[0]] if as_frame else X[[0]]
    model.predict(one)  # a task keeps its code, whichever rows are there
    assert_array_equal(model.estimator_.new_[0], model.estimator_.X_[0])


def test_xgboost_and_catboost_get_the_task_as_a_category():
    X = FRAME[["size", "g"]].fillna(0)
    booster = _booster("xgboost", enable_categorical=None, feature_types=None)
    model = TaskAsFeature(booster, task="g").fit(X, Y)
    assert model.estimator_.enable_categorical
    assert model.estimator_.feature_types == ["q", "c"]
    booster = _booster("catboost", cat_features=None)
    model = TaskAsFeature(booster, task="g", unknown_task="share").fit(X, Y)
    assert model.estimator_.cat_features == [1]
    assert model.estimator_.X_[:3, 1].tolist() == X["g"].tolist()[:3]
    model.predict(X.head(1).assign(g="new"))
    assert model.estimator_.new_[0, 1] == "(unknown)"


class Picky(ClassifierMixin, BaseEstimator):
    """Of a package that nobody knows; it takes numbers only."""

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(np.asarray(X, dtype=float), y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(np.asarray(X, dtype=float))


@pytest.mark.parametrize("form", [PerTask, Pooled, TaskAsFeature])
def test_who_fails_on_words_is_told_all_columns_and_what_works(form):
    with pytest.raises(ValueError, match="Picky failed on a table with") as caught:
        form(Picky(), task="g").fit(FRAME, Y)
    message = str(caught.value)
    for column in ("colour", "day", "town"):
        assert repr(column) in message
    assert "Task" not in message
    assert "more rows" not in message
    advice = message.partition("front of it: ")[2].removesuffix(".")
    line = advice.replace("Picky(...)", "Picky()")
    names = {"make_pipeline": make_pipeline, "kinlearn": kinlearn, "Picky": Picky}
    model = form(eval(line, names), task="g").fit(FRAME, Y)
    assert model.predict(NEW).shape == (5,)


def test_a_shared_part_and_own_ones_from_words():
    model = SharedPlusOwn(Ridge(), task="g").fit(FRAME, Y.astype(float))
    assert isinstance(model.predict(NEW), np.ndarray)
    assert model.score(FRAME, Y) > 0.5


def test_a_task_of_one_row_is_encoded_too():
    frame = FRAME.assign(g=["one", *["many"] * (N - 1)])
    model = PerTask(RandomForestClassifier(5, random_state=0), task="g").fit(frame, Y)
    assert not isinstance(model.estimators_[1], Pipeline)  # one class needs no model
    assert model.predict(frame.head(2)).shape == (2,)


def test_oversampling_gives_rows_back_as_they_came():
    sampler = AuxiliaryOverSampler(
        task="g", target="u", n_estimators=3, n_repeats=2, random_state=0
    )
    X, y = sampler.fit_resample(FRAME, Y)
    assert X.dtypes.tolist() == FRAME.dtypes.tolist()
    assert len(X) == len(y)
    assert set(X["g"]) == {"u"}


def test_privileged_columns_may_be_words():
    model = SVMPlusClassifier(privileged=["town", "colour"]).fit(
        FRAME.drop(columns="g"), Y
    )
    without = FRAME.drop(columns=["g", "town", "colour"])
    assert_array_equal(model.predict(without), model.predict(FRAME.drop(columns="g")))


def test_a_column_constant_but_for_rounding_has_no_scale():
    X = RNG.normal(size=(60, 3))
    X[:, 1] = 1.5e-16 * RNG.normal(size=60)
    X[:, 2] = 0.1 + 1e-17 * RNG.normal(size=60)
    MultiTaskSVC().fit(X, X[:, 0] > 0)  # no warning, which would be an error here


def test_importances_are_of_the_columns_that_came_in():
    model = MultiTaskExtraTreesClassifier(10, task="g", random_state=0).fit(FRAME, Y)
    assert model.feature_importances_.shape == (len(FRAME.columns),)
    assert_allclose(model.feature_importances_.sum(), 1)
    assert model.feature_importances_.argmax() == 1


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([Decimal("1.50"), Decimal("2.25"), None] * (N // 3)).astype(
            pd.ArrowDtype(pa.decimal128(10, 2))
        ),
        pl.Series([Decimal("1.50"), Decimal("2.25"), None] * (N // 3)),
        pl.Series(
            [{"left": 0.0, "right": 1.0}, {"left": 1.0, "right": 2.0}] * (N // 2)
        ),
    ],
    ids=["pandas decimals", "polars decimals", "polars intervals"],
)
@pytest.mark.parametrize(
    "model",
    [
        PerTask(LogisticRegression(), task="g"),
        MultiTaskExtraTreesClassifier(5, task="g", random_state=0),
    ],
    ids=["form", "trees"],
)
@pytest.mark.filterwarnings("ignore:Column 'x' is not used:UserWarning")
def test_types_without_a_nan_and_pairs_are_read_or_left_out(column, model):
    if isinstance(column, pl.Series):
        frame = pl.from_pandas(FRAME[["g"]]).with_columns(
            column.alias("x"), pl.Series("y", Y)
        )
    else:
        frame = FRAME[["g"]].assign(x=column, y=Y)
    assert clone(model).fit(frame, Y).score(frame, Y) > 0.9


@pytest.mark.parametrize("kind", ["tree", "form"])
def test_a_column_that_is_not_used_is_named(kind):
    frame = pd.DataFrame(
        {
            "shop": ["a", "b"] * 10,
            "colour": ["red", "red", "blue", "green"] * 5,
            "basket": [["milk"]] * 20,
            "receipt": [f"no. {i}" for i in range(20)],
            "country": ["NL"] * 20,
        }
    )
    y = np.arange(20) // 2 % 2
    model = MultiTaskExtraTreesClassifier(5, task="shop")
    if kind == "form":
        model = Pooled(LogisticRegression(), task="shop")
    with pytest.warns(UnusedColumnWarning, match=r"(?s)'basket'.*list.*'receipt'") as w:
        model.fit(frame, y)
    assert len(w) == 1
    assert "country" not in str(w[0].message)  # there is nothing in it
    assert w[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(frame.drop(columns=["basket", "receipt"]), y)
