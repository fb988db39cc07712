"""What the two searches of `tune_in_two_stages` try, and by which names."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from kinlearn.svm._analytic import analytic_C, analytic_epsilon
from kinlearn.svm._kernel import make_space
from kinlearn.svm.estimators import (
    MultiTaskSVMBase,
    PrivilegedFeatureSelectionClassifier,
    SVMPlusBase,
    SVMPlusClassifier,
)
from kinlearn.tables.internal import NUMBERS
from kinlearn.tasks import TaskData, check_task_data
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["Place", "other_columns", "read_grids"]

_FACTORS = (0.1, 1.0, 10.0)  # of the gamma that "scale" gives
_COSTS = (0.1, 1.0, 10.0, 100.0)
_PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
_OF_CORRECTION = "correction_"

Machine: TypeAlias = SVMPlusBase | MultiTaskSVMBase
Grid: TypeAlias = dict[str, Any] | Sequence[dict[str, Any]]


def other_columns(params: dict[str, Any]) -> dict[str, Any]:
    """Which columns are no features, as `check_task_data` calls them."""
    task = params.get("task") if params.get("group") is None else params["group"]
    return {
        "task": task,
        "privileged": params.get("privileged"),
        "task_role": "Task" if params.get("group") is None else "Group",
    }


@dataclass(frozen=True)
class Place:
    """Where in an estimator the machine is that is tuned.

    Attributes
    ----------
    estimator : estimator
        The machine itself, a selector over it, or a pipeline that ends with either.
    selector : PrivilegedFeatureSelectionClassifier or None
        What chooses the machine's features.
    machine : SVMPlusBase or MultiTaskSVMBase
        The machine.
    step : str
        What stands before the names of the last step's parameters.
    """

    estimator: Any
    selector: PrivilegedFeatureSelectionClassifier | None
    machine: Machine
    step: str

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """Find it."""
        last, step = estimator, ""
        if isinstance(estimator, Pipeline):
            name, last = estimator.steps[-1]
            step = f"{name}__"
        selector, machine = None, last
        if isinstance(last, PrivilegedFeatureSelectionClassifier):
            selector, machine = last, last.estimator or SVMPlusClassifier()
        if isinstance(machine, SVMPlusBase | MultiTaskSVMBase):
            place = cls(estimator, selector, machine, step)
            # a machine by default becomes one that has parameters
            return replace(place, estimator=place.with_machine(machine))
        raise TypeError(
            "tune_in_two_stages needs SVMPlusClassifier, SVMPlusRegressor, "
            "MultiTaskSVC, MultiTaskSVR, PrivilegedFeatureSelectionClassifier over an "
            "SVM+, or a Pipeline that ends with one; got "
            f"{type(machine).__name__}. Tune others with GridSearchCV."
        )

    @property
    def prefix(self) -> str:
        """What stands before the names of the machine's parameters."""
        return self.step if self.selector is None else f"{self.step}estimator__"

    def data(self, X: Table, y: ArrayLike, weight: ArrayLike | None) -> TaskData:
        """The checked rows as the machine gets to see them."""
        if isinstance(self.estimator, Pipeline) and len(self.estimator) > 1:
            X = clone(self.estimator[:-1]).fit_transform(X, y)
        params = self.machine.get_params(deep=False)
        if self.selector is not None:
            params["privileged"] = None  # the selector decides that
        return check_task_data(
            X,
            y,
            weight,
            labels="classes" if is_classifier(self.machine) else "numbers",
            accept_sparse=True,
            encoding=NUMBERS,
            estimator=type(self.machine).__name__,
            **other_columns(params),
        )

    def with_machine(self, machine: Any) -> Any:
        """The estimator with another machine in place of its own."""
        if self.selector is not None:
            machine = clone(self.selector).set_params(estimator=machine)
        if not self.step:
            return machine
        return clone(self.estimator).set_params(
            **{self.step.removesuffix("__"): machine}
        )

    def _of_selector(self, name: str) -> bool:
        return (
            self.selector is not None
            and name not in self.machine.get_params(deep=False)
            and name in self.selector.get_params(deep=False)
        )

    def long_name(self, name: str, alone: bool) -> str:
        """The name that the whole estimator has for a parameter of a grid.

        `alone` is for the machine as a plain SVM, inside of what makes it one.
        """
        if "__" in name:
            return name
        if self._of_selector(name):
            return self.step + name
        return f"{self.prefix}{'estimator__' if alone else ''}{name}"


def read_grids(
    place: Place, data: TaskData, plain: Grid | None, correction: Grid | None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Grids of both searches by short names; None is a grid that fits the machine."""
    plain = _plain_grid(place, data) if plain is None else plain
    correction = _correction_grid(place, data) if correction is None else correction
    return _read_grid(plain, False, place), _read_grid(correction, True, place)


def _n_selected(place: Place, n_features: int) -> int:
    """Features that the decision function sees."""
    if place.selector is None:
        return n_features
    return place.selector._n_selected(n_features)


def _plain_grid(place: Place, data: TaskData) -> dict[str, list]:
    """Grid for what the kernel and the kind of target have."""
    kernel, n_features = place.machine.kernel, data.X.shape[1]
    plain: dict[str, list] = {"C": list(_COSTS)}
    if not is_classifier(place.machine):
        plain["C"] = [analytic_C(data.y)]
        if kernel != "precomputed":  # there are no features to look for neighbours in
            width = analytic_epsilon(data.X, data.y, data.task)
            plain["epsilon"] = [factor * width for factor in (0.3, 1.0, 3.0)]
    if kernel in ("rbf", "poly"):
        scale = make_space(data.X, kernel, weight=data.sample_weight).gamma
        scale *= n_features / _n_selected(place, n_features)
        plain["gamma"] = [factor * scale for factor in _FACTORS]
    return plain


def _correction_grid(place: Place, data: TaskData) -> dict[str, list]:
    """Grid for what the correcting kernel has."""
    params, n_features = place.machine.get_params(deep=False), data.X.shape[1]
    correction: dict[str, list] = {"correction_penalty": list(_PENALTIES)}
    kernel = params["correction_kernel"]
    kernel = params["kernel"] if kernel is None else kernel
    if isinstance(kernel, str) and kernel in ("rbf", "poly"):
        Z = data.X if data.privileged is None else data.privileged
        scale = make_space(Z, "rbf", weight=data.sample_weight).gamma
        dropped = n_features - _n_selected(place, n_features)
        scale *= n_features / dropped if dropped else 1.0
        correction["correction_gamma"] = [factor * scale for factor in _FACTORS]
    return correction


def _read_grid(grid: Grid, second: bool, place: Place) -> list[dict[str, Any]]:
    """A list of grids with short names: each stage has other parameters."""
    grids = [grid] if isinstance(grid, dict) else grid
    grids = [
        {
            k.removeprefix(place.prefix).removeprefix(place.step): v
            for k, v in each.items()
        }
        for each in grids
    ]
    for each in grids:
        strange = [n for n in each if n.startswith(_OF_CORRECTION) != second]
        if strange:
            stage = "correction_grid" if second else "plain_grid"
            other = "plain_grid" if second else "correction_grid"
            raise ValueError(
                f"{stage} of {type(place.machine).__name__} holds "
                f"{strange[0]!r}, which belongs into {other}: the names of the second "
                f"stage begin with {_OF_CORRECTION!r}."
            )
    return grids
