"""What a comparison prints is what new rows give: over many draws, within noise.

Targets of pure noise, whose truth is known for any model: tiny tasks, tasks of one
row, copies of rows, and rows that are equal because columns have few values. Every
promise is tested together with a way of computing it that breaks it.
"""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

from kinlearn import with_task
from kinlearn.audit import compare_sharing
from kinlearn.model_selection import TaskStratifiedKFold
from kinlearn.sharing import PerTask, Pooled

NOISE = (10,) * 10  # rows of each task
UNEQUAL = (1, 1, 2, 3, 6, 10, 20, 40)


def draw(seed, sizes, n_features=2, *, numbers=False):
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(task), n_features))
    y = rng.normal(size=len(task)) if numbers else rng.integers(2, size=len(task))
    return X, task, y


def compare(X, task, y, model, **options):
    models = {"alone": PerTask(model, task=-1), "pooled": Pooled(model, task=-1)}
    n_repeats = None if "cv" in options else 1
    options = {"estimators": models, "n_repeats": n_repeats, "curve": False} | options
    return compare_sharing(with_task(X, task), y, task=-1, **options)


def macro(result, name):
    return next(c["macro"] for c in result.contenders if c["name"] == name)


def is_near(values, truth, most=4.0):
    """Whether the mean of draws is within so many standard errors of the truth."""
    values = np.asarray(values)
    return abs(values.mean() - truth) <= most * values.std(ddof=1) / len(values) ** 0.5


@pytest.mark.parametrize(
    ("scoring", "numbers", "model", "truth"),
    [
        ("accuracy", False, DummyClassifier(), 0.5),
        ("accuracy", False, DecisionTreeClassifier(max_depth=2), 0.5),
        ("roc_auc", False, DecisionTreeClassifier(max_depth=2), 0.5),
        # a new row and the mean of eight
        ("neg_mean_squared_error", True, DummyRegressor(), -1.125),
    ],
    ids=["most common class", "tree", "tree, AUC", "mean"],
)
def test_scores_of_noise_are_those_of_new_rows(scoring, numbers, model, truth):
    found = []
    for seed in range(25):
        data = draw(seed, NOISE, numbers=numbers)
        found.append(macro(compare(*data, model, scoring=scoring), "alone"))
    assert is_near(found, truth)


@pytest.mark.parametrize("numbers", [False, True])
def test_folds_of_equal_shares_would_flatter(numbers):
    scoring = "neg_mean_squared_error" if numbers else "accuracy"
    model = DummyRegressor() if numbers else DummyClassifier()
    truth = -1.125 if numbers else 0.5
    cv = TaskStratifiedKFold(5, shuffle=True, random_state=0)
    found = []
    for seed in range(25):
        data = draw(seed, NOISE, numbers=numbers)
        found.append(macro(compare(*data, model, scoring=scoring, cv=cv), "alone"))
    assert np.mean(found) > truth + 0.05
    assert not is_near(found, truth)


def copied(X, task, y, rng):
    """Half of the rows a second time, targets included."""
    rows = np.r_[np.arange(len(y)), rng.choice(len(y), len(y) // 2, replace=False)]
    return X[rows], task[rows], y[rows]


def test_copies_of_rows_do_not_flatter():
    model = DecisionTreeClassifier()  # remembers every row
    kept, divided = [], []
    for seed in range(15):
        data = copied(*draw(seed, (20,) * 4), np.random.default_rng(seed))
        result = compare(*data, model, scoring="accuracy")
        kept.append([c["macro"] for c in result.contenders])
        remark = result.to_dict()["verdict"]["details"][-1]
        assert remark.startswith("80 of 120 rows equal another row of their task")
        cv = KFold(5, shuffle=True, random_state=seed)
        result = compare(*data, model, scoring="accuracy", cv=cv)
        divided.append([c["macro"] for c in result.contenders])
    assert is_near(np.mean(kept, axis=1), 0.5)
    assert np.mean(divided) > 0.65


def coarse(rng, n_tasks=4, n_rows=40):
    """Two columns of two values, and targets that depend on them."""
    task = np.repeat(np.arange(n_tasks), n_rows)
    X = rng.integers(2, size=(len(task), 2)).astype(float)
    y = (rng.random(len(task)) < 0.2 + 0.6 * X[:, 0]).astype(int)
    return X, task, y


def test_equal_rows_of_few_values_neither_flatter_nor_punish():
    model = LogisticRegression()
    found, new = [], []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X, task, y = coarse(rng)
        result = compare(X, task, y, model, scoring="accuracy")
        found.append(macro(result, "alone"))
        assert (
            "as happens with columns of few values"
            in (result.to_dict()["verdict"]["details"][-1])
        )
        first = coarse(rng, n_rows=32)  # as many as a fold trains on
        fitted = PerTask(model, task=-1).fit(with_task(*first[:2]), first[2])
        fresh = coarse(rng, n_rows=1000)
        new.append(fitted.score(with_task(*fresh[:2]), fresh[2]))
    assert is_near(np.subtract(found, new), 0)


def test_a_table_appended_to_itself_is_noticed():
    X, task, y = coarse(np.random.default_rng(0))
    twice = np.r_[np.arange(len(y)), np.arange(len(y))]
    result = compare(X[twice], task[twice], y[twice], DummyClassifier())
    details = result.to_dict()["verdict"]["details"]
    # 160 rows of two columns: chance does not make all numbers even
    assert details[-1].startswith("Every row is there 2 times, target included")


def false_words(seed, **options):
    """Whether a task is called helped or hurt, and whether the mean is off zero."""
    data = draw(seed, UNEQUAL)
    model = DecisionTreeClassifier(max_depth=2)
    result = compare(*data, model, **options)
    headline = result.headline
    off_zero = headline["low"] is not None and not (
        headline["low"] <= 0 <= headline["high"]
    )
    tiny = [gain for gain in result.gains if gain["n_rows"] < 5]
    assert {gain["verdict"] for gain in tiny} == {"not scored"}
    for gain in result.gains:
        if gain["gain"] is not None:
            assert gain["gain"] == pytest.approx(gain["sharing"] - gain["alone"])
        if gain["low"] is not None:
            assert -1 <= gain["low"] <= gain["gain"] <= gain["high"] <= 1
    words = {gain["verdict"] for gain in result.gains}
    return bool(words & {"helped", "hurt"}), off_zero


@pytest.mark.parametrize("scoring", ["roc_auc", "accuracy"])
def test_nothing_is_said_of_noise(scoring):
    found = np.array([false_words(seed, scoring=scoring) for seed in range(20)])
    most = binom.isf(1e-3, len(found), 0.05)
    assert (found.sum(axis=0) <= most).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_repeats", [1, 2])
@pytest.mark.parametrize("scoring", ["roc_auc", "accuracy"])
def test_nothing_is_said_of_noise_in_the_long_run(scoring, n_repeats):
    found = np.array(
        [
            false_words(seed, scoring=scoring, n_repeats=n_repeats)
            for seed in range(1000, 1200)
        ]
    )
    most = binom.isf(1e-3, len(found), 0.05)
    assert (found.sum(axis=0) <= most).all()
