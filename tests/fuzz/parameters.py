"""Parameters of the fuzzer, drawn from the constraints that the estimators state.

Values are JSON: what is not (an estimator, a mapping from tasks to classes) is a word
with an @ in front, which :func:`resolve` turns into a value for the inputs at hand.
"""

import math
import random
from itertools import cycle, pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils._param_validation import Interval, Options

from tests.fuzz.inputs import Inputs

__all__ = ["draw_parameters", "resolve"]

# Whole numbers that say how long a fit works: never large ones.
_WORK = {
    "n_estimators",
    "n_folds",
    "n_alphas",
    "n_init",
    "n_inner",
    "n_repeats",
    "n_roots",
    "n_stages",
    "n_iter_no_change",
    "max_iter",
    "degree",
    "correction_degree",
}
_ESTIMATORS = {
    "@ridge": Ridge(),
    "@logistic": LogisticRegression(),
    "@tree": DecisionTreeClassifier(max_depth=2),
    "@tree of numbers": DecisionTreeRegressor(max_depth=2),
    "@svc": SVC(),
}
# Parameters whose constraints do not say enough: what else they can be.
_OF_THEIR_OWN: dict[str, list[Any]] = {
    "estimator": [None, *_ESTIMATORS],
    "estimators": [None, "@candidates"],
    "families": ["linear", "trees", ["linear", "trees"], "boosting", "svm", []],
    "categorical_features": [None, [0], [True], ["a"], [0, 1], [99]],
    "monotonic_cst": [None, [1], [1, -1, 0], [0, 0], "@increasing"],
    "interaction_cst": [None, "pairwise", [[0]], [[0, 1], [2]], [[0], [7]]],
    "label_sets": ["connected", "observed", "@label sets"],
    "class_weight": [None, "balanced", "@class weight", {"5": 1}],
    "graph": [None, "@chain", "@no edges", [[0, 1], [1, 0]]],
    "alphas": [None, [1.0, 0.1], [1e-12], [0.0], []],
    "offset": [None, 0, "a"],
    "privileged": [None, 0, [0], [0, 1], "a", ["a"], [99]],
    "group": [None, 0, "a"],
    "groups": [None, [0], ["a"], [[0, 1]]],
    "slopes": [None, "all", [0], ["a"], [0, 1]],
    "covariance": ["full", "diagonal", "scaled_identity", "low_rank"],
    "shares": [None, [0.5, 0.5], "@equal shares"],
    "correction_kernel": [None, "linear", "rbf", "poly", "@kernels by task"],
    "correction_gamma": [None, "scale", 0.3, "@gammas by task"],
    "lambda_inter": [0.0, 0.1, 10.0, [[0.1, 0.2], [0.2, 0.1]]],
    "sampling_strategy": ["auto", "minority", "not majority", 0.5, 1.0, {"1": 20}],
    "target": ["@first task", "@last task", "nobody", 0, 1],
    "scoring": [None, "accuracy", "r2", "roc_auc", "nonsense"],
    "n_jobs": [None, 1],
    "drop": [[], ["a"], [0]],
    "keep": [[], ["a"], [0], "all", "second_half"],
    "categorical": [[], ["a"], [0]],
    "time_limit": [None, 1e-9, 60.0],
    "random_state": [0, 1, None],
}
# Plain threads of our own, which cost no process.
_THREADS = ("Trees", "Forest", "Boosting")


def draw_parameters(estimator: Any, rng: random.Random) -> dict[str, Any]:
    """Some parameters of an estimator; `random_state` always, for the same model."""
    drawn: dict[str, Any] = {}
    params = estimator.get_params(deep=False)
    for name, constraints in sorted(estimator._parameter_constraints.items()):
        if name in {"task", "transformer"} or name not in params:
            continue
        if name == "random_state":
            drawn[name] = rng.randrange(3)
        elif name == "target" or rng.random() < 0.2:
            if name == "estimator" and _is_form(estimator):
                continue
            drawn[name] = _draw(estimator, name, constraints, rng)
    return drawn


def _is_form(estimator: Any) -> bool:
    """Whether its estimator is what the registry has it for."""
    return getattr(estimator, "estimator", None) is not None


def _draw(estimator: Any, name: str, constraints: Any, rng: random.Random) -> Any:
    if rng.random() < 0.03:  # what the constraints refuse, most of the time
        return rng.choice([-1, 0, "nonsense", 1.5, [], None, True])
    if name == "n_jobs" and any(s in type(estimator).__name__ for s in _THREADS):
        return rng.choice([None, 1, 2, 3, -1])
    choices = list(_OF_THEIR_OWN.get(name, ()))
    if not choices and isinstance(constraints, list):
        for constraint in constraints:
            choices += _values(name, constraint)
    return rng.choice(choices) if choices else None


def _values(name: str, constraint: Any) -> list[Any]:
    """A few values that a constraint allows, those at its ends among them."""
    if isinstance(constraint, Options):
        return sorted(constraint.options, key=str)
    if isinstance(constraint, str):
        return [True, False] if constraint == "boolean" else []
    if constraint is None:
        return [None]
    if constraint is Integral:
        return [0, 1, -1]
    if constraint is Real:
        return [0.0, 1.0, -1.0, 1e-8, 1e8]
    if not isinstance(constraint, Interval):
        return []
    low = 0 if constraint.left is None else constraint.left
    high = math.inf if constraint.right is None else constraint.right
    if constraint.type is Integral:
        found = [*range(int(low), int(low) + 4), 10, 20]
        if name not in _WORK:
            found += [100, 2**31, 2**62]
    else:
        found = [low, high, 1e-3, 0.1, 0.3, 0.5, 0.9, 1.0, 3.0, 10.0, 1e3]
        found += [1e-12, 1e12, low + 1e-300, 1e300, 1 - 1e-12]
    return [v for v in found if v in constraint and not math.isinf(v)]


def resolve(value: Any, inputs: Inputs) -> Any:
    """The value that a word with an @ stands for."""
    if isinstance(value, dict):  # keys of JSON are text
        return {int(k) if k.isdigit() else k: v for k, v in value.items()}
    if not isinstance(value, str) or not value.startswith("@"):
        return value
    if value in _ESTIMATORS:
        return _ESTIMATORS[value]
    tasks, classes = inputs.task_values or [0], _distinct(inputs.y)
    match value:
        case "@candidates":
            inner = Ridge() if inputs.y.dtype.kind == "f" else LogisticRegression()
            return {"mine": inner}
        case "@label sets":
            return dict.fromkeys(tasks, classes)
        case "@class weight":
            return {c: 1.0 + i for i, c in enumerate(classes)}
        case "@chain":
            return dict.fromkeys(pairwise(tasks), 1.0)
        case "@kernels by task":
            return dict(zip(tasks, cycle(["linear", "rbf", "poly"])))
        case "@gammas by task":
            return dict(zip(tasks, cycle([0.1, "scale", 3.0])))
        case "@no edges":
            return np.zeros((len(tasks), len(tasks)))
        case "@equal shares":
            return np.full(len(tasks), 1 / len(tasks))
        case "@increasing":
            return [1] * inputs.n_features
        case "@first task":
            return tasks[0]
        case "@last task":
            return tasks[-1]
    raise ValueError(f"No word of the fuzzer: {value}")


def _distinct(y: np.ndarray) -> list:
    return list(dict.fromkeys(y.tolist()))
