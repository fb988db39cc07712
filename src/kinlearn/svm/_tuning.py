"""Two-stage tuning (Cai 2011): first as a plain SVM, then what is of SVM+ alone."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from kinlearn.svm._analytic import analytic_C, analytic_epsilon
from kinlearn.svm._kernel import make_space
from kinlearn.svm.estimators import MultiTaskSVMBase, SVMPlusBase, without_task
from kinlearn.tables.internal import NUMBERS
from kinlearn.tasks import TaskData, check_task_data, check_task_rows
from kinlearn.utils import deal_to_folds
from kinlearn.utils._callbacks import set_callbacks
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["TwoStageResult", "tune_in_two_stages"]

_FACTORS = (0.1, 1.0, 10.0)  # of the gamma that "scale" gives
_COSTS = (0.1, 1.0, 10.0, 100.0)
_PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
_OF_CORRECTION = "correction_"


@dataclass(frozen=True)
class TwoStageResult:
    """What a two-stage search found.

    Attributes
    ----------
    best_estimator : estimator
        Fitted to all rows with the best parameters of both stages.
    best_params : dict
        These parameters, by the names that the grids have.
    best_score : float
        Mean score on held-out rows, of the second stage.
    plain_score : float
        The same of the best plain SVM, of the first stage: what the columns of
        training, or the tasks, had to beat.
    plain_results, correction_results : dict
        ``cv_results_`` of the two searches.
    """

    best_estimator: Any
    best_params: dict
    best_score: float
    plain_score: float
    plain_results: dict
    correction_results: dict


_UNSUPERVISED = {**NUMBERS, "categories": "indicators"}


class _PlainMachine(BaseEstimator):
    """The estimator as a plain SVM: one function, free slacks, features alone.

    It takes the same X, so that folds, scorers and searches see the same rows.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Table, y: ArrayLike, **weights: Any) -> Self:
        params = self.estimator.get_params(deep=False)
        data = check_task_data(
            X, accept_sparse=True, encoding=_UNSUPERVISED, **_columns(params)
        )
        self._encoder = data.encoder
        self._columns = without_task(data.columns)
        alone: dict = dict.fromkeys(("task", "group", "privileged"))
        alone["correction_penalty"] = 1e12  # one task alone corrects nothing
        alone = {name: value for name, value in alone.items() if name in params}
        self.estimator_ = clone(self.estimator).set_params(**alone)
        self.estimator_.fit(data.X, y, **weights)
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
        return self

    def _features(self, X: Table) -> Any:
        none = np.zeros(1, dtype=int)
        return check_task_rows(
            X,
            columns=self._columns,
            tasks=none,
            encoder=self._encoder,
            accept_sparse=True,
        ).X

    def predict(self, X: Table) -> np.ndarray:
        return self.estimator_.predict(self._features(X))

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X: Table) -> np.ndarray:
        return self.estimator_.decision_function(self._features(X))

    def score(self, X: Table, y: ArrayLike, **weights: Any) -> float:
        return self.estimator_.score(self._features(X), y, **weights)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)


def _columns(params: dict[str, Any]) -> dict[str, Any]:
    """Which columns are no features, as `check_task_data` calls them."""
    task = params.get("task") if params.get("group") is None else params["group"]
    return {
        "task": task,
        "privileged": params.get("privileged"),
        "task_role": "Task" if params.get("group") is None else "Group",
    }


def _machine(estimator: Any) -> SVMPlusBase | MultiTaskSVMBase:
    """The estimator itself, or the last step of a pipeline."""
    machine = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(machine, SVMPlusBase | MultiTaskSVMBase):
        return machine
    raise TypeError(
        "tune_in_two_stages needs SVMPlusClassifier, SVMPlusRegressor, MultiTaskSVC or "
        "MultiTaskSVR, or a Pipeline that ends with one; got "
        f"{type(machine).__name__}. Tune others with GridSearchCV."
    )


def _prefix(estimator: Any) -> str:
    """What stands before the names of the machine's parameters."""
    if isinstance(estimator, Pipeline):
        return f"{estimator.steps[-1][0]}__"
    return ""


def _data(
    estimator: Any, machine: SVMPlusBase | MultiTaskSVMBase, X: Table, y: ArrayLike
) -> TaskData:
    """The checked rows as the machine gets to see them."""
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        X = clone(estimator[:-1]).fit_transform(X, y)
    return check_task_data(
        X,
        y,
        labels="classes" if is_classifier(machine) else "numbers",
        accept_sparse=True,
        encoding=NUMBERS,
        estimator=type(machine).__name__,
        **_columns(machine.get_params(deep=False)),
    )


def _default_grids(
    machine: SVMPlusBase | MultiTaskSVMBase, data: TaskData
) -> tuple[dict[str, list], dict[str, list]]:
    """Grids for what the kernels and the kind of target have."""
    params = machine.get_params(deep=False)
    X = data.X
    Z = X if data.privileged is None else data.privileged
    plain: dict[str, list] = {"C": list(_COSTS)}
    if not is_classifier(machine):
        plain["C"] = [analytic_C(data.y)]
        width = analytic_epsilon(X, data.y, data.task)
        plain["epsilon"] = [factor * width for factor in (0.3, 1.0, 3.0)]
    correction: dict[str, list] = {"correction_penalty": list(_PENALTIES)}
    kernel = params["kernel"]
    if kernel in ("rbf", "poly"):
        scale = make_space(X, kernel).gamma
        plain["gamma"] = [factor * scale for factor in _FACTORS]
    if (params["correction_kernel"] or kernel) in ("rbf", "poly"):
        scale = make_space(Z, "rbf").gamma
        correction["correction_gamma"] = [factor * scale for factor in _FACTORS]
    return plain, correction


def _read_grid(
    grid: dict[str, Any] | Sequence[dict[str, Any]], second: bool, estimator: Any
) -> list[dict[str, Any]]:
    """A list of grids with short names: each stage has other parameters."""
    grids = [grid] if isinstance(grid, dict) else grid
    prefix = _prefix(estimator)
    grids = [{k.removeprefix(prefix): v for k, v in each.items()} for each in grids]
    for each in grids:
        strange = [n for n in each if n.startswith(_OF_CORRECTION) != second]
        if strange:
            stage = "correction_grid" if second else "plain_grid"
            other = "plain_grid" if second else "correction_grid"
            raise ValueError(
                f"{stage} of {type(_machine(estimator)).__name__} holds "
                f"{strange[0]!r}, which belongs into {other}: the names of the second "
                f"stage begin with {_OF_CORRECTION!r}."
            )
    return grids


def _folds(
    cv: Any, X: Table, y: ArrayLike, data: TaskData
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of training and test rows, the same for both searches."""
    if data.columns.task is None or not (cv is None or isinstance(cv, Integral)):
        return list(check_cv(cv, y, classifier=data.classes is not None).split(X, y))
    n = 5 if cv is None else int(cv)
    if not 2 <= n <= data.n_samples:
        raise ValueError(
            f"cv={n} folds cannot be made of {data.n_samples} rows. Give a number from "
            "2 to that of the rows."
        )
    # The cells are classes of a task, each dealt out to the folds in turn.
    n_strata = 1 if data.classes is None else len(data.classes)
    stratum = 0 if data.classes is None else data.y
    cells, cell, counts = np.unique(
        data.task * n_strata + stratum, return_inverse=True, return_counts=True
    )
    quota = deal_to_folds(cells // n_strata, cells % n_strata, counts, n)
    fold = np.empty(data.n_samples, dtype=np.intp)
    dealt = np.repeat(np.tile(np.arange(n), len(cells)), quota.ravel())
    fold[np.argsort(cell, kind="stable")] = dealt
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n)]


def _check_scores(results: dict[str, Any]) -> None:
    """Refuse a search in which a score is missing: its best would be a guess."""
    folds = sorted(key for key in results if key.startswith("split"))
    scores = np.array([results[key] for key in folds])
    missing = np.argwhere(~np.isfinite(scores))
    if len(missing):
        fold, k = missing[0]
        shown = ", ".join(f"{n}={v!r}" for n, v in results["params"][k].items())
        raise ValueError(
            f"{len(missing)} scores of the search are NaN or infinite, the first one "
            f"for {shown} in {folds[fold]}. Give folds (cv) on which the score can be "
            "computed, or another scoring."
        )


def tune_in_two_stages(
    estimator: Any,
    X: Table,
    y: ArrayLike,
    *,
    plain_grid: dict[str, Any] | Sequence[dict[str, Any]] | None = None,
    correction_grid: dict[str, Any] | Sequence[dict[str, Any]] | None = None,
    cv: Any = 5,
    scoring: str | Callable[..., Any] | None = None,
    n_jobs: int | None = None,
    callbacks: Sequence[Any] = (),
) -> TwoStageResult:
    """Tune an SVM+ or a multi-task SVM, in two searches instead of one large one.

    The first search takes the estimator as a plain SVM on the features alone (no
    tasks, groups or privileged columns) and tunes C, epsilon and the kernel. The
    second keeps these, and tunes the penalty and the kernel of the corrections.
    Four parameters of four values each are 16 + 16 fits instead of 256.

    Parameters
    ----------
    estimator : estimator
        :class:`SVMPlusClassifier`, :class:`SVMPlusRegressor`, :class:`MultiTaskSVC`
        or :class:`MultiTaskSVR`, with its columns named, or a
        :class:`~sklearn.pipeline.Pipeline` that ends with one, such as
        ``make_pipeline(keep_task(StandardScaler(), task=-1), MultiTaskSVC(task=-1))``.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows with all columns.
    y : array-like of shape (n_samples,)
        Labels or numbers.
    plain_grid : dict or list of dict, default=None
        Grid of the first search: parameters of the machine by their own names, those
        of other steps by ``step__name``. None is C in 0.1, 1, 10, 100 (regression:
        analytic C, and epsilon in 0.3, 1 and 3 times the analytic one), and for rbf
        and poly gamma in 0.1, 1 and 10 times that of "scale".
    correction_grid : dict or list of dict, default=None
        Grid of the second search, of parameters whose names begin with
        ``correction_``. None is `correction_penalty` in 0.01, 0.1, 1, 10, 100, and
        for rbf and poly `correction_gamma` in 0.1, 1 and 10 times that of "scale".
    cv : int, splitter or iterable, default=5
        Folds, the same ones in both searches. With tasks or groups, a number gives
        each fold its fraction of every task, in the proportions of its classes, as
        :class:`kinlearn.model_selection.TaskStratifiedKFold` does.
    scoring : str, callable or None, default=None
        What to maximise; None is the estimator's own score.
    n_jobs : int or None, default=None
        Fits at a time, as in scikit-learn.
    callbacks : sequence of callbacks, default=()
        Scikit-learn's callbacks for both searches, such as
        ``[sklearn.callback.ProgressBar()]``; from scikit-learn 1.9 on.

    Returns
    -------
    TwoStageResult
        The best estimator, fitted to all rows, and both searches' results.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.svm import SVMPlusClassifier, tune_in_two_stages
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = X[:, 0] + X[:, 2] > 0
    >>> model = SVMPlusClassifier(kernel="linear", privileged=2)
    >>> result = tune_in_two_stages(model, X, y, cv=3)
    >>> sorted(result.best_params)
    ['C', 'correction_penalty']
    >>> result.best_estimator.predict(X[:, :2]).shape
    (60,)
    """
    machine, prefix = _machine(estimator), _prefix(estimator)
    data = _data(estimator, machine, X, y)
    defaults = _default_grids(machine, data)
    plain_grid = defaults[0] if plain_grid is None else plain_grid
    correction_grid = defaults[1] if correction_grid is None else correction_grid
    plain = _read_grid(plain_grid, False, estimator)
    correction = _read_grid(correction_grid, True, estimator)
    folds = _folds(cv, X, y, data)
    # A fit or a score that fails ends the search with its own message.
    options = {
        "cv": folds,
        "scoring": scoring,
        "n_jobs": n_jobs,
        "error_score": "raise",
    }

    def run(
        model: Any, grid: list[dict[str, Any]], prefix: str, **more: Any
    ) -> tuple[Any, dict[str, Any]]:
        grid = [
            {k if "__" in k else prefix + k: v for k, v in each.items()}
            for each in grid
        ]
        search = GridSearchCV(model, grid, **options, **more)
        set_callbacks(search, callbacks)
        with warnings.catch_warnings():
            # callbacks see the fits of the search; what is inside one is short
            warnings.filterwarnings("ignore", ".*does not support callbacks")
            warnings.filterwarnings("ignore", ".*scores are non-finite")
            search.fit(X, y)
        _check_scores(search.cv_results_)
        return search, {
            k.removeprefix(prefix): v for k, v in search.best_params_.items()
        }

    alone = _PlainMachine(machine)
    if prefix:
        alone = clone(estimator).set_params(**{prefix.removesuffix("__"): alone})
    first, best = run(alone, plain, f"{prefix}estimator__", refit=False)
    tuned = {k if "__" in k else prefix + k: v for k, v in best.items()}
    second, corrected = run(clone(estimator).set_params(**tuned), correction, prefix)
    return TwoStageResult(
        best_estimator=second.best_estimator_,
        best_params={**best, **corrected},
        best_score=float(second.best_score_),
        plain_score=float(first.best_score_),
        plain_results=first.cv_results_,
        correction_results=second.cv_results_,
    )
