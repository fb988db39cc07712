"""A fit that does not end leaves the estimator as it was."""

import inspect
import pickle

import pytest
from sklearn.base import BaseEstimator

from kinlearn.tasks import TaskMixin
from kinlearn.utils import AllOrNothing
from kinlearn.utils._callbacks import with_callbacks


class _Mixin:
    def partial_fit(self, X, y=None):
        self.mixed_ = X
        raise KeyboardInterrupt


class Model(AllOrNothing, _Mixin, BaseEstimator):
    def __init__(self, power=1):
        self.power = power

    def fit(self, X, y=None, *, sample_weight=None):
        """Divide."""
        self.rows_ = len(X)
        self.part_ = 1 / len(X)
        return self


class Loud(Model):
    @with_callbacks
    def fit(self, X, y=None):
        del self.part_
        return super().fit(X, y)


@pytest.mark.parametrize("kind", [Model, Loud])
def test_what_was_fitted_before_is_there_after_an_error(kind):
    model = kind()
    model.__dict__ |= {"rows_": 5, "part_": 0.2}
    with pytest.raises(ZeroDivisionError):
        model.fit([])
    assert vars(model) == {"power": 1, "rows_": 5, "part_": 0.2}
    assert model.fit([1, 2]) is model
    assert (model.rows_, model.part_) == (2, 0.5)


def test_methods_of_other_mixins_are_included():
    model = Model()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit([1])
    assert vars(model) == {"power": 1}
    assert vars(_Mixin)["partial_fit"] is _Mixin.partial_fit  # itself as it was


def test_signature_name_and_docstring_stay():
    assert list(inspect.signature(Model.fit).parameters)[-1] == "sample_weight"
    assert (Model.fit.__name__, Model.fit.__doc__) == ("fit", "Divide.")
    assert hasattr(Model(), "set_fit_request")
    assert pickle.loads(pickle.dumps(Model().fit([1]))).rows_ == 1


def test_a_method_is_wrapped_once():
    class Below(Model):
        pass

    assert Below.fit is Model.fit
    assert "fit" not in vars(Below)


def test_estimators_of_others_have_it_by_the_task_mixin():
    assert issubclass(TaskMixin, AllOrNothing)


class Wider(Model):
    def __init__(self, power=1, width=2):
        super().__init__(power)
        self.width = width


class Same(Wider):
    pass


def test_names_of_parameters_are_those_of_the_class():
    for _ in range(2):  # read, and remembered
        assert Model(3).get_params() == {"power": 3}
        assert Wider(3).get_params() == {"power": 3, "width": 2}
        assert Same(3, 4).get_params() == {"power": 3, "width": 4}
    names = Model._get_param_names()
    names.append("other")  # a list of one's own
    assert Model._get_param_names() == ["power"]


def test_another_constructor_has_other_parameters(monkeypatch):
    def init(self, depth=5):
        self.depth = depth

    assert Same._get_param_names() == ["power", "width"]
    monkeypatch.setattr(Same, "__init__", init)
    assert Same().get_params() == {"depth": 5}
