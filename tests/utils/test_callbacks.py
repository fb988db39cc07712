"""Scikit-learn's callbacks where there are some, and the stand-in where not."""

import importlib.util
import pickle
import sys
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge
from sklearn.utils import estimator_html_repr

from kinlearn import with_task
from kinlearn.sharing import PerTask
from kinlearn.utils import _callbacks, rounds_with_callbacks
from tests.callbacks import Recorder, StopAfter
from tests.versions import HAS_CALLBACKS, needs_callbacks


@pytest.fixture
def stand_in(monkeypatch):
    """The module as it is where scikit-learn has no callbacks."""
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    spec = importlib.util.spec_from_file_location("stand_in", _callbacks.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=[False, True], ids=["installed", "stand-in"])
def either(request):
    """The module as it is here, and the stand-in."""
    return request.getfixturevalue("stand_in") if request.param else _callbacks


def make_model(module):
    """An estimator of some rounds, which remembers them."""

    class Model(module.CallbackSupportMixin, BaseEstimator):
        def __init__(self, n_rounds=4):
            self.n_rounds = n_rounds

        @module.with_callbacks
        def fit(self, X, y=None):
            """Count."""
            self.n_rounds_ = 0
            with rounds_with_callbacks(self, X, y, self.n_rounds) as on_round:
                for number in range(self.n_rounds):
                    with on_round(number) as told:
                        self.n_rounds_ += 1
                    if told.stop:
                        break
            warnings.warn("counted", UserWarning, stacklevel=3)
            return self

    return Model()


def fit(model):
    with pytest.warns(UserWarning, match="counted") as caught:
        assert model.fit([[1.0]]) is model
    return caught[0]


def test_a_fit_ends_and_leaves_nothing_behind(either):
    model = make_model(either)
    fit(model)
    assert vars(model) == {"n_rounds": 4, "n_rounds_": 4}


def test_a_warning_names_the_line_that_called_fit(either):
    model = make_model(either)
    assert fit(model).filename == __file__
    assert type(model).fit.__doc__ == "Count."
    assert type(model).fit.__name__ == "fit"


def test_an_error_in_a_fit_comes_through(either):
    model = make_model(either)
    model.n_rounds = "many"
    with pytest.raises(TypeError, match="integer"):
        model.fit([[1.0]])


def test_without_callbacks_set_callbacks_is_absent_and_says_why(stand_in):
    model = make_model(stand_in)
    assert not hasattr(model, "set_callbacks")
    need = rf"need scikit-learn 1\.9 or newer; this is {sklearn.__version__}"
    with pytest.raises(AttributeError, match=need):
        model.set_callbacks(Recorder())


def test_without_callbacks_an_estimator_is_one_like_others(stand_in):
    model = make_model(stand_in).set_params(n_rounds=2)
    assert clone(model).get_params() == {"n_rounds": 2}
    assert repr(model) == "Model(n_rounds=2)"
    assert "Model" in estimator_html_repr(model)


def test_an_estimator_without_callbacks_is_told_apart(either):
    class Plain(BaseEstimator):
        pass

    either.set_callbacks(Plain(), ())
    with pytest.raises(
        ValueError, match=r"need scikit-learn 1\.9|Plain takes no callbacks"
    ):
        either.set_callbacks(Plain(), [Recorder()])


@needs_callbacks
def test_callbacks_are_scikit_learns_own_where_it_has_them():
    from sklearn.callback import CallbackSupportMixin

    assert _callbacks.CallbackSupportMixin is CallbackSupportMixin
    recorder, model = StopAfter(2), make_model(_callbacks)
    _callbacks.set_callbacks(model, [recorder])
    fit(model)
    assert recorder.seen == ["setup", "round 0", "round 1", "fit", "teardown"]
    assert model.n_rounds_ == 2


@pytest.mark.skipif(HAS_CALLBACKS, reason="requires scikit-learn before 1.9")
def test_our_estimators_fit_where_scikit_learn_has_no_callbacks():
    X = with_task(np.arange(12.0).reshape(6, 2), [0, 1] * 3)
    model = PerTask(Ridge(), task=-1)
    assert not hasattr(model, "set_callbacks")
    loaded = pickle.loads(pickle.dumps(model.fit(X, np.arange(6.0))))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
