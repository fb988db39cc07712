"""The models that have a name on the command line: one line each."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from kinlearn.cli._errors import UserError, listed, one_line, suggest

__all__ = [
    "FORMS",
    "MODELS",
    "check_model",
    "is_contender",
    "make_model",
    "own_estimators",
]

FORMS = {
    "alone": "PerTask",
    "pooled": "Pooled",
    "task-as-feature": "TaskAsFeature",
    "shared-plus-own": "SharedPlusOwn",
}


@dataclass(frozen=True)
class Model:
    """What a name stands for.

    - `classifier`, `regressor`: ``module:Class`` of each kind; None: there is none.
    - `shares`: Whether it knows tasks by itself; if not, it comes in the three forms.
    - `scale`: Whether it wants numbers of unit variance.
    - `settings`: Parameters that differ from the class's own defaults.
    """

    classifier: str | None
    regressor: str | None
    shares: bool = False
    scale: bool = False
    settings: tuple = ()


_TREES, _HIST = "kinlearn.trees:MultiTask", "sklearn.ensemble:HistGradientBoosting"
MODELS = {
    "kin": Model(
        "kinlearn.sharing:KinClassifier", "kinlearn.sharing:KinRegressor", shares=True
    ),
    "extra-trees": Model(
        f"{_TREES}ExtraTreesClassifier", f"{_TREES}ExtraTreesRegressor", shares=True
    ),
    "random-forest": Model(f"{_TREES}RandomForestClassifier", None, shares=True),
    "decision-tree": Model(f"{_TREES}DecisionTreeClassifier", None, shares=True),
    "svm": Model(
        "kinlearn.svm:MultiTaskSVC",
        "kinlearn.svm:MultiTaskSVR",
        shares=True,
        scale=True,
    ),
    "stump-boosting": Model(
        "kinlearn.boosting:AbstainingAdaBoostClassifier", None, shares=True
    ),
    "tree-boosting": Model(
        "kinlearn.boosting:MultiTaskAdaBoostClassifier", None, shares=True
    ),
    "mtboost": Model(
        "kinlearn.boosting:MTBoostClassifier",
        "kinlearn.boosting:MTBoostRegressor",
        shares=True,
        scale=True,
    ),
    "boosting": Model(f"{_HIST}Classifier", f"{_HIST}Regressor"),
    "linear": Model(
        "sklearn.linear_model:LogisticRegression",
        "sklearn.linear_model:Ridge",
        scale=True,
        settings=(("max_iter", 1000),),
    ),
}


def is_contender(name: str) -> bool:
    """Whether a name may be that of a contender of ``kin compare``."""
    return name not in MODELS and (", " in name or name.startswith("multi-task "))


def check_model(name: str, form: str | None = None) -> None:
    """Refuse names that there are not, before anything is read."""
    if is_contender(name):
        if form is not None:
            raise UserError(f"{name!r} names its form. Leave --form {form} out.")
        return
    if name not in MODELS:
        raise UserError(f"There is no model {name!r}. {suggest(name, MODELS)}")
    if MODELS[name].shares and form is not None:
        raise UserError(
            f"The model {name!r} shares by itself: --form is for "
            f"{listed(n for n, m in MODELS.items() if not m.shares)}."
        )
    if form is not None and form not in FORMS:
        raise UserError(f"There is no form {form!r}. {suggest(form, FORMS)}")
    if form == "shared-plus-own" and name != "linear":
        raise UserError(f"The form {form!r} is for --model linear, not for {name!r}.")


def make_model(
    name: str,
    kind: str | None,
    *,
    task: str,
    form: str | None = None,
    settings: Sequence[str] = (),
    n_jobs: int | None = None,
    seed: int = 0,
    estimators: Mapping[str, Any] | None = None,
) -> tuple[Any, bool]:
    """The estimator that a name and its settings stand for; of Kin with candidates."""
    check_model(name, form)
    model = MODELS[name]
    address = model.classifier if kind == "classification" else model.regressor
    if address is None:
        able = [n for n, m in MODELS.items() if m.regressor]
        raise UserError(
            f"The model {name!r} predicts classes, not numbers. For regression use "
            f"{listed(able)}."
        )
    module, _, attribute = address.partition(":")
    estimator = getattr(import_module(module), attribute)()
    common = {"random_state": seed, "n_jobs": n_jobs, **dict(model.settings)}
    known = estimator.get_params()
    estimator.set_params(**{key: v for key, v in common.items() if key in known})
    if model.shares:
        estimator.set_params(task=task, unknown_task="share")
        outer = estimator
    else:
        sharing = import_module("kinlearn.sharing")
        outer = getattr(sharing, FORMS[form or "task-as-feature"])(
            estimator, task=task, unknown_task="share"
        )
    if estimators:
        outer.set_params(estimators=dict(estimators))
    for text in settings:
        _apply(text, name, [estimator, outer])
    return outer, model.scale


def own_estimators(texts: Sequence[str], model: str) -> dict[str, Any]:
    """Candidates of Kin, each given as ``name=package.module.Class``."""
    if texts and model != "kin":
        raise UserError(
            f"--estimator is for --model kin, which weighs candidates, not for "
            f"{model!r}. Leave --model {model} out."
        )
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, address = (part.strip() for part in text.partition("="))
        module, dot, attribute = address.rpartition(".")
        if not (equals and name and dot and module and attribute):
            raise UserError(
                f"--estimator {text!r} is not of the form name=package.module.Class, "
                "such as forest=sklearn.ensemble.RandomForestRegressor."
            )
        if name in found:
            raise UserError(f"--estimator {name} is given twice. Name one differently.")
        found[name] = _made(text, module, attribute)
    return found


def _made(text: str, module: str, attribute: str) -> Any:
    """An estimator of a class with its own defaults."""
    try:
        there = import_module(module)
    except ImportError as error:
        raise UserError(
            f"--estimator {text}: {one_line(error, 120)}. Is the package installed, "
            "and the path right?"
        ) from error
    cls = getattr(there, attribute, None)
    if not isinstance(cls, type) or not hasattr(cls, "fit"):
        names = [n for n in vars(there) if hasattr(getattr(there, n), "fit")]
        raise UserError(
            f"--estimator {text}: {module} has no estimator {attribute!r}. "
            + (suggest(attribute, names) if names else "Check the path.")
        )
    try:
        return cls()
    except TypeError as error:
        raise UserError(
            f"--estimator {text}: {attribute} cannot be made without arguments "
            f"({one_line(error, 120)}). Use it in Python: KinRegressor(estimators=...)."
        ) from error


_OWN = ("task", "unknown_task", "estimator", "estimators", "target", "privileged")
_LISTS = ("families",)  # parameters that take several words


def _apply(text: str, name: str, owners: list[Any]) -> None:
    """Set ``name=value`` on the first of the owners that has it."""
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise UserError(f"--set {text!r} is not of the form name=value.")
    params = [
        [p for p in owner.get_params(deep=False) if p not in _OWN] for owner in owners
    ]
    for owner, names in zip(owners, params, strict=True):
        if key in names:
            owner.set_params(**{key: _value(value.strip(), key in _LISTS)})
            try:
                owner._validate_params()
            except (ValueError, TypeError) as error:
                raise UserError(f"--set {text}: {one_line(error, 220)}") from error
            return
    known = sorted({one for names in params for one in names})
    raise UserError(
        f"--set {text}: {name} has no parameter {key!r}. {suggest(key, known)}"
    )


def _value(text: str, several: bool = False) -> Any:
    if several and "," in text and text[0] not in "[(":
        return [word.strip() for word in text.split(",") if word.strip()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        constants = {"true": True, "false": False, "none": None}
        return constants.get(text.lower(), text)
