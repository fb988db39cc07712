"""Who is compared: the default contenders, and those that a user brings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import get_tags

from kinlearn.audit._problem import Problem, open_problem
from kinlearn.audit.statistics import Contender
from kinlearn.sharing import PerTask, Pooled, TaskAsFeature
from kinlearn.sharing.internal import DEFAULT_MODELS, DefaultModel, FinestLevel
from kinlearn.tables import TableEncoder
from kinlearn.tables.internal import find_column, open_table
from kinlearn.tasks import keep_task
from kinlearn.tasks.internal import split_path
from kinlearn.utils._typing import ArrayLike, Table, TaskPath

__all__ = ["Entry", "choose_contenders", "default_contenders", "find_scaler"]

# Of such a task a fold may have a single row, on which boosting cannot be fitted.
_TINY = 3
_WRAPPERS = {"alone": PerTask, "pooled": Pooled, "task as feature": TaskAsFeature}


@dataclass(frozen=True, eq=False)
class Entry:
    """A contender with its model.

    - `contender`: Name, family and form.
    - `estimator`: The model, not fitted.
    """

    contender: Contender
    estimator: Any

    @property
    def name(self) -> str:
        """Name of the contender."""
        return self.contender.name

    @property
    def slow(self) -> bool:
        """Whether its model is one of those that take part on request only."""
        return isinstance(innermost(self.estimator), _SLOW)


def with_random_state(estimator: Any, random_state: int) -> Any:
    """A clone in which no random state is left open."""
    estimator = clone(estimator)
    for key, value in estimator.get_params().items():
        if value is None and key.split("__")[-1] == "random_state":
            estimator.set_params(**{key: random_state})
    return estimator


def _layers(estimator: Any) -> Iterator[Any]:
    """An estimator, and what lies behind a pipeline, a search or a form."""
    while estimator is not None:
        yield estimator
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        else:
            # a parameter: a forest has the attribute too, which is its kind of tree
            known = hasattr(estimator, "get_params")
            params = estimator.get_params(deep=False) if known else {}
            inner = params.get("estimator")
            estimator = inner if isinstance(inner, BaseEstimator) else None


def innermost(estimator: Any) -> Any:
    """The model behind all layers."""
    *_, model = _layers(estimator)
    return model


_FAMILIES = {type(innermost(c.estimator)): c.family for c in DEFAULT_MODELS}
# the same methods, of scikit-learn's
_FAMILIES |= {
    ExtraTreesClassifier: "extra trees",
    ExtraTreesRegressor: "extra trees",
    HistGradientBoostingClassifier: "gradient boosting",
    HistGradientBoostingRegressor: "gradient boosting",
}
_SLOW = tuple(type(c.estimator) for c in DEFAULT_MODELS if c.on_request)


def default_contenders(
    X: Table,
    y: ArrayLike,
    *,
    task: TaskPath,
    kind: Literal["classification", "regression"] | None = None,
    random_state: int = 0,
    on_request: bool = False,
    unknown_task: Literal["warn", "share", "error"] = "warn",
) -> dict[str, Any]:
    """The models that `compare_sharing` compares by default.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows with the task column. Its size and the types of its columns decide.
    y : array-like of shape (n_samples,)
        Class labels or numbers.
    task : str, int or list of them
        Name or position of the task column; or a path of columns, coarse to fine.
    kind : {"classification", "regression"} or None, default=None
        What y is; None guesses, as :func:`compare_sharing` does.
    random_state : int, default=0
        Decides the models.
    on_request : bool, default=False
        Whether to return also the models that take long, and that are compared on
        request only: :class:`~kinlearn.KinClassifier` and its regressor.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What the models do about tasks that `fit` did not see: predict them from what
        is common, with a warning or without, or raise an error. Models of each task
        alone fit one more model for them, unless it is "error".

    Returns
    -------
    dict of str to estimator
        Models by name, not fitted. Add to it, or take from it, and pass it as
        ``estimators`` to :func:`compare_sharing`.

    Examples
    --------
    >>> from kinlearn.audit import default_contenders
    >>> from kinlearn.datasets import load_demo
    >>> X, y = load_demo(as_frame=True, return_X_y=True)
    >>> for name in default_contenders(X, y, task="clinic"):
    ...     print(name)
    logistic regression, alone
    logistic regression, pooled
    logistic regression, task as feature
    ...
    """
    problem = open_problem(X, y, task, kind)
    entries = default_entries(
        problem,
        random_state=random_state,
        unknown_task=unknown_task,
        on_request=on_request,
    )
    return {entry.name: entry.estimator for entry in entries}


def default_entries(
    problem: Problem,
    *,
    random_state: int,
    unknown_task: Literal["warn", "share", "error"] = "error",
    on_request: bool = False,
) -> list[Entry]:
    """The default contenders for some data."""
    scaler = find_scaler(problem.X, problem.task)
    if isinstance(scaler, TableEncoder):
        scaler = None  # every model encodes such a table in the way that suits it
    entries = []
    sparse = sp.issparse(problem.X)
    size = problem.n_rows, problem.n_tasks, problem.n_features, sparse
    for default in DEFAULT_MODELS:
        if not default.suits(problem.kind, *size):
            continue
        if default.on_request and not on_request:
            continue
        if sparse and not get_tags(default.estimator).input_tags.sparse:
            continue
        prepare = scaler if default.scaled else None
        for form in default.forms:
            model = _build(default, form, prepare, problem, unknown_task)
            name = f"{default.family}, {form}"
            if default.on_request:
                name = default.family
            elif form == "multi-task":
                name = f"multi-task {default.family}"
            model = with_random_state(model, random_state)
            entries.append(Entry(Contender(name, default.family, form), model))
    return _on_path(entries, problem)


def _on_path(entries: list[Entry], problem: Problem) -> list[Entry]:
    """The contenders, those that know no levels behind what takes the path for them."""
    if not problem.path:
        return entries
    out = []
    for entry in entries:
        behind = next(filter(_knows_task, _layers(entry.estimator)), None)
        model = entry.estimator
        if isinstance(model, FinestLevel):  # of default_contenders
            model = clone(model).set_params(task=problem.column)
        elif not _is_path(getattr(behind, "task", None)):
            model = FinestLevel(model, task=problem.column)
        out.append(replace(entry, estimator=model))
    return out


def _is_path(task: Any) -> bool:
    return isinstance(task, list | tuple) and len(task) > 1


def _build(
    default: DefaultModel,
    form: str,
    prepare: Any,
    problem: Problem,
    unknown_task: Literal["warn", "share", "error"],
) -> Any:
    """The estimator of one form, its columns prepared by its own training rows."""
    inner = default.estimator
    if form in ("alone", "pooled"):
        # The preparation goes inside: a scaler of all rows would share a little.
        inner = inner if prepare is None else make_pipeline(prepare, inner)
        model = _WRAPPERS[form](inner, task=problem.task, unknown_task=unknown_task)
        if form == "alone" and problem.sizes.min() <= _TINY:
            model.set_params(min_samples=2)
        return model
    # Behind keep_task the task column of an array is the last one.
    moved = prepare is not None and not problem.is_frame
    options: dict[str, Any] = {
        "task": -1 if moved else problem.task,
        "unknown_task": unknown_task,
    }
    if form == "task as feature":
        model = TaskAsFeature(inner, **options)
    else:
        if default.on_request and not moved:  # Kin takes the path itself
            options["task"] = problem.column
        model = clone(inner).set_params(**options)
    if prepare is None:
        return model
    return make_pipeline(keep_task(prepare, task=problem.task), model)


def choose_contenders(
    estimators: Mapping[str, Any] | None,
    problem: Problem,
    *,
    random_state: int,
    unknown_task: Literal["error", "share"] = "error",
) -> list[Entry]:
    """The contenders of a comparison."""
    if estimators is None:
        return default_entries(
            problem, random_state=random_state, unknown_task=unknown_task
        )
    if not isinstance(estimators, Mapping):
        raise TypeError(
            "estimators must be a dict of estimators by name, or None; got "
            f"{type(estimators).__name__}."
        )
    entries = []
    for name, estimator in estimators.items():
        _check_estimator(name, estimator, problem)
        entries += _read_entries(name, estimator, problem, random_state)
    names = [entry.name for entry in entries]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"Two contenders are named {twice!r}. Rename one of them.")
    _check_both_kinds(entries, problem)
    return _on_path(entries, problem)


def _check_estimator(name: Any, estimator: Any, problem: Problem) -> None:
    if not isinstance(name, str):
        raise TypeError(f"Names of estimators must be strings; got {name!r}.")
    if isinstance(estimator, type):
        raise TypeError(
            f"Estimator {name!r} is the class {estimator.__name__}. Pass an object: "
            f"{estimator.__name__}(...)."
        )
    methods = ("fit", "predict", "get_params")
    if not all(hasattr(estimator, method) for method in methods):
        raise TypeError(
            f"Estimator {name!r} is {estimator!r}, which is not an estimator: it lacks "
            "one of fit, predict and get_params."
        )
    fits = is_classifier if problem.kind == "classification" else is_regressor
    if not fits(estimator):
        what = "classifier" if problem.kind == "classification" else "regressor"
        raise TypeError(
            f"Estimator {name!r} ({type(estimator).__name__}) is not a {what}, but y "
            f"was taken for {problem.kind}. Pass kind='classification' or "
            "kind='regression' if that is wrong."
        )


def _read_entries(
    name: str, estimator: Any, problem: Problem, random_state: int
) -> list[Entry]:
    """One entry for an estimator that knows tasks, three for one that does not."""
    form = _form_of(name, estimator, problem)
    model = with_random_state(estimator, random_state)
    kind = type(innermost(estimator))
    family = _FAMILIES.get(kind, kind.__name__)
    if form is not None:
        return [Entry(Contender(name, family, form), model)]
    return [
        Entry(
            Contender(f"{name}, {form}", family, form),
            wrapper(model, task=problem.task),
        )
        for form, wrapper in _WRAPPERS.items()
    ]


def _form_of(name: str, estimator: Any, problem: Problem) -> str | None:
    """Form of an estimator; None if it knows nothing of tasks."""
    behind = next(filter(_knows_task, _layers(estimator)), None)
    if behind is None:
        return None
    key = behind.task
    if key is None:
        raise ValueError(
            f"Estimator {name!r} ({type(behind).__name__}) has task=None, so it does "
            f"not see the tasks. Set task={problem.task!r}, or wrap it in PerTask, "
            "Pooled or TaskAsFeature."
        )
    if _is_path(key):
        table = open_table(problem.given)
        both = [[find_column(c, table, "Task") for c in p] for p in (key, problem.path)]
        if both[0] != both[1]:
            raise ValueError(
                f"Estimator {name!r} has task={key!r}, but the comparison is by "
                f"task={problem.column!r}. Use the same columns."
            )
    elif behind is estimator:  # behind a transformer the column may have moved
        key = split_path(key)[1]
        table = open_table(problem.X)
        if find_column(key, table, "Task") != find_column(problem.task, table, "Task"):
            raise ValueError(
                f"Estimator {name!r} has task={key!r}, but the comparison is by "
                f"task={problem.task!r}. Use the same column."
            )
    for form, wrapper in _WRAPPERS.items():
        if isinstance(behind, wrapper):
            return form
    return "multi-task"


def _knows_task(estimator: Any) -> bool:
    if isinstance(estimator, Pipeline | FinestLevel):
        return False  # what is inside does
    if not hasattr(estimator, "get_params"):
        return False
    return "task" in estimator.get_params(deep=False)


def _check_both_kinds(entries: list[Entry], problem: Problem) -> None:
    shares = {entry.contender.shares for entry in entries}
    if shares == {True, False}:
        return
    if not entries:
        raise ValueError("estimators is empty. Pass estimators by name, or None.")
    lacking, remedy = (
        ("shares", "a multi-task estimator, Pooled(...) or TaskAsFeature(...)")
        if shares == {False}
        else ("keeps the tasks apart", "PerTask(...)")
    )
    raise ValueError(
        f"None of the estimators {lacking}, so there is nothing to compare with. Add "
        f"{remedy}, task={problem.task!r}; a plain scikit-learn estimator stands for "
        "all three forms."
    )


def find_scaler(X: Table, task: str | int) -> Any:
    """A transformer of the features to numbers of one scale, none missing."""
    if sp.issparse(X):
        return MaxAbsScaler()
    table = open_table(X)
    position = find_column(task, table, "Task")
    if not table.is_numeric([i for i in range(table.n_columns) if i != position]):
        return TableEncoder(categories="indicators", fill=True, scale=True)
    return make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
