"""What all estimators on Dask have in common: rows, answers, errors, progress.

That models are those of one machine with all kinds of rows and parameters is for the
tests of parts (tests/trees, tests/boosting); here it is the way through Dask.
"""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from kinlearn import boosting, trees
from tests.versions import needs_callbacks

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
kd = pytest.importorskip("kinlearn.dask")

# Every level or round takes some messages to the workers: few of them.
EXTRA = {"min_samples_leaf": 20, "task_split_prob": 1.0, "max_depth": 3}
NAMES = {
    "MultiTaskExtraTreesClassifier": EXTRA,
    "MultiTaskExtraTreesRegressor": EXTRA
    | {"linear_part": False, "task_offset": False},
    "MultiTaskRandomForestClassifier": {"max_depth": 3, "random_state": 4},
    "AbstainingAdaBoostClassifier": {"random_state": 4},
}
every_estimator = pytest.mark.parametrize("name", NAMES)


def both(name, task, client, n_estimators=2):
    """The local estimator, and the same on Dask."""
    params = {"task": task, "random_state": 4, **NAMES[name]}
    local = getattr(trees if hasattr(trees, name) else boosting, name)
    found = getattr(kd, name)(n_estimators, **params, client=client)
    return local(n_estimators, **params), found


def assert_same_answers(found, expected, X):
    """Of a model on Dask and of a local one, to the bit; numbers but for rounding."""
    if hasattr(expected, "classes_"):
        assert_array_equal(found.to_local().predict_proba(X), expected.predict_proba(X))
    else:
        assert_allclose(found.to_local().predict(X), expected.predict(X), rtol=1e-9)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 400
    X = pd.DataFrame(rng.normal(size=(n, 4)).astype(np.float32), columns=[*"abcd"])
    names = np.array(["ash", "beech", "cedar"], object)
    X["school"] = names[rng.integers(0, 3, n)]
    X.loc[rng.random(n) < 0.1, "b"] = np.nan
    return X, X["a"] + (X["school"] == "cedar") * X["c"] * 2


def targets(name, y):
    return y if name.endswith("Regressor") else (y > 0).map({False: "no", True: "yes"})


def on_dask(X, y, npartitions=4):
    X = dd.from_pandas(X, npartitions=npartitions)
    return X, dd.from_pandas(y, npartitions=npartitions)


@every_estimator
def test_frames(name, client, frame):
    X, y = frame[0], targets(name, frame[1])
    dX, dy = on_dask(X, y)
    local, model = both(name, "school", client)
    assert_same_answers(model.fit(dX, dy), local.fit(X, y), X)
    answer = model.predict(dX)
    assert answer.npartitions == dX.npartitions
    answer = answer.compute()
    assert_array_equal(answer.index, X.index)
    if name.endswith("Regressor"):
        assert_allclose(answer.to_numpy(), local.predict(X), rtol=1e-9)
        return
    assert_array_equal(answer.to_numpy(), local.predict(X))
    proba = model.predict_proba(dX).compute()
    assert [*proba.columns] == ["no", "yes"]
    assert_array_equal(proba.to_numpy(), local.predict_proba(X))


@every_estimator
def test_arrays_with_weights_and_skewed_and_empty_partitions(name, client, frame):
    X = frame[0].assign(school=frame[0]["school"].astype("category").cat.codes)
    X, y = X.to_numpy(np.float64), targets(name, frame[1]).to_numpy()
    y = y if name.endswith("Regressor") else y == "yes"
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    dX = da.from_array(X, chunks=((100, 0, 299, 1), (3, 2)))
    local, model = both(name, -1, client)
    model.fit(dX, da.from_array(y, chunks=250), da.from_array(weight, chunks=-1))
    assert_same_answers(model, local.fit(X, y, weight), X)
    answer = model.predict(dX)
    assert answer.chunks == ((100, 0, 299, 1),)
    assert len(answer.compute()) == len(y)
    assert pickle.loads(pickle.dumps(model)).client is None
    kept = pickle.loads(pickle.dumps(model)).to_local()
    assert type(kept) is type(local)
    assert kept.get_params() == local.get_params()
    assert clone(model).client is client


@every_estimator
def test_partitions_with_one_class_one_task_and_unknown_categories(name, client, frame):
    X, y = frame[0], targets(name, frame[1])
    order = np.lexsort([y, X["school"]])
    X, y = X.iloc[order].reset_index(drop=True), y.iloc[order].reset_index(drop=True)
    X["school"] = X["school"].astype("category")
    dX, dy = on_dask(X, y, npartitions=6)
    dX["school"] = dX["school"].cat.as_unknown()
    local, model = both(name, "school", client)
    assert_same_answers(model.fit(dX, dy), local.fit(X, y), X)


@pytest.mark.parametrize("rule", ["connected", "observed", {"ash": ["no", "yes"]}])
@pytest.mark.parametrize("name", [n for n in NAMES if n.endswith("Classifier")])
def test_classes_that_a_tasks_rows_do_not_show(name, rule, client, frame):
    X, y = frame[0], targets(name, frame[1])
    y = y.where(X["school"] != "ash", "no")
    local, model = both(name, "school", client)
    model.set_params(label_sets=rule).fit(*on_dask(X, y))
    local.set_params(label_sets=rule).fit(X, y)
    assert_same_answers(model, local, X)
    ash = model.to_local().predict_proba(X[X["school"] == "ash"])
    assert (ash[:, 1] > 0).all() == (rule != "observed")


class Watch:
    """A callback that notes the steps."""

    def __init__(self):
        self.steps = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.steps.append(context.task_name)

    def teardown(self, estimator, context):
        pass


@needs_callbacks
@every_estimator
def test_the_last_client_is_found_and_progress_is_told(name, client, frame):
    X, y = frame[0], targets(name, frame[1])
    seen, (_, model) = Watch(), both(name, "school", None)
    model.set_callbacks(seen).fit(*on_dask(X, y))
    step = "round" if "Boost" in name else "tree"
    assert seen.steps == [f"{step} 0", f"{step} 1", "fit"]


@every_estimator
def test_a_task_that_fit_did_not_see(name, client, frame):
    X, y = frame[0], targets(name, frame[1])
    known = (X["school"] != "ash").to_numpy()
    _, model = both(name, "school", client)
    model.set_params(unknown_task="error").fit(*on_dask(X[known], y[known]))
    answer = model.predict(on_dask(X, y)[0])
    with pytest.raises(ValueError, match="did not see in fit: 'ash'"):
        answer.compute()
    model.set_params(unknown_task="share")
    assert len(model.predict(on_dask(X, y)[0]).compute()) == len(X)


@every_estimator
def test_errors_say_what_to_do(name, client, frame):
    X, y = frame[0], targets(name, frame[1])
    dX, dy = on_dask(X, y)
    _, model = both(name, "school", client)
    package = "boosting" if "Boost" in name else "trees"
    with pytest.raises(TypeError, match=rf"use kinlearn\.{package}\.{name}"):
        model.fit(X, y)
    with pytest.raises(TypeError, match="y must be a Dask Series or array"):
        model.fit(dX, y)
    with pytest.raises(ValueError, match="target y is None"):
        model.fit(dX, None)
    with pytest.raises(ValueError, match=r"X has 4 partitions, but y has 3"):
        model.fit(dX, dd.from_pandas(y, npartitions=3))
    with pytest.raises(ValueError, match=r"Task column 'shool' is not in X"):
        clone(model).set_params(task="shool").fit(dX, dy)
    with pytest.raises(ValueError, match="Found no rows"):
        model.fit(dX[dX["a"] > 1e9], dy[dX["a"] > 1e9])
    gap = X.assign(school=X["school"].where(X.index != 399, None))
    with pytest.raises(ValueError, match=r"In partition 3 .*'school' is missing in 1"):
        model.fit(dd.from_pandas(gap, npartitions=4), dy)
    with pytest.raises(ValueError, match=r"In partition \d of the data: .*infinity"):
        model.fit(on_dask(X.assign(a=np.inf), y)[0], dy)
    with pytest.raises(TypeError, match=r"must be a dask\.distributed\.Client"):
        clone(model).set_params(client="tcp://here").fit(dX, dy)
    fixed = "early_stopping" if "Boost" in name else "warm_start"
    with pytest.raises(ValueError, match=f"{fixed}=True is not available on Dask"):
        clone(model).set_params(**{fixed: True}).fit(dX, dy)


def test_without_a_client_the_error_says_how_to_make_one(client):
    # Here the fixture's client is the default: ask in a process that has none.
    messages = client.submit(_fit_without_client, [*NAMES], pure=False).result()
    assert len(messages) == len(NAMES)
    assert all("There is no Dask client. Make one" in text for text in messages)


def _fit_without_client(names):
    import dask.array as da
    import distributed.client
    import distributed.worker

    import kinlearn.dask

    distributed.client._global_client_index[0] += 1  # forget any
    found = []
    for name in names:
        try:
            getattr(kinlearn.dask, name)(task=-1).fit(da.ones((4, 2)), da.ones(4))
        except ValueError as error:
            found.append(str(error))
    return found


@every_estimator
def test_constructor_and_docstring_are_those_of_the_local_class(name):
    local, model = both(name, "a", None, n_estimators=7)
    own = {"client": None} | ({} if "Boost" in name else {"trees_at_once": None})
    assert model.get_params() == local.get_params() | own
    with pytest.raises(TypeError, match="unexpected keyword argument 'purty'"):
        getattr(kd, name)(purty=1)
    doc = getattr(kd, name).__doc__
    fixed = "early_stopping" if "Boost" in name else "warm_start"
    assert f"{fixed} : bool, default=False\n    Must be False here" in doc
    assert doc.count("client : ") == 1
    assert ("trees_at_once : " in doc) == ("Boost" not in name)
