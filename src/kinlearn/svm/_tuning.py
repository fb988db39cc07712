"""Two-stage tuning (Cai 2011): first as a plain SVM, then what is of SVM+ alone."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length

from kinlearn.svm._tuning_grids import Place, other_columns, read_grids
from kinlearn.svm.estimators import without_task
from kinlearn.tables.internal import NUMBERS, append_rows, open_table
from kinlearn.tasks import TaskData, check_task_data, check_task_rows
from kinlearn.utils import deal_to_folds
from kinlearn.utils._callbacks import set_callbacks
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["TwoStageResult", "tune_in_two_stages"]


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

    It takes the same X, so that folds, scorers and searches see the same rows. A
    selector sets `privileged`, as that of an SVM+: these columns are left out.
    """

    def __init__(self, estimator: Any, privileged: Any = None) -> None:
        self.estimator = estimator
        self.privileged = privileged

    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        params = self.estimator.get_params(deep=False)
        if self.privileged is not None:
            params["privileged"] = self.privileged
        data = check_task_data(
            X, accept_sparse=True, encoding=_UNSUPERVISED, **other_columns(params)
        )
        self._encoder = data.encoder
        self._columns = without_task(data.columns)
        alone: dict = dict.fromkeys(("task", "group", "privileged"))
        alone["correction_penalty"] = 1e12  # one task alone corrects nothing
        for name in ("correction_kernel", "correction_gamma", "label_sets"):
            if isinstance(params.get(name), Mapping):  # from tasks, which are gone
                alone[name] = type(self.estimator)().get_params()[name]
        alone = {name: value for name, value in alone.items() if name in params}
        self.estimator_ = clone(self.estimator).set_params(**alone)
        self.estimator_.fit(data.X, y, sample_weight)
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

    def score(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        return self.estimator_.score(self._features(X), y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)


class _WeightedPipeline(BaseEstimator):
    """A pipeline whose last step takes weights, by the name that searches know."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Table, y: ArrayLike, sample_weight: ArrayLike) -> Self:
        name = self.estimator.steps[-1][0]
        weights = {f"{name}__sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(X, y, **weights)
        if is_classifier(self):
            self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Table) -> np.ndarray:
        return self.estimator_.predict(X)

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X: Table) -> np.ndarray:
        return self.estimator_.decision_function(X)

    def score(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        return self.estimator_.score(X, y, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)


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


def _check_scores(results: dict[str, Any], short: dict[str, str]) -> None:
    """Refuse a search in which a score is missing: its best would be a guess."""
    folds = sorted(key for key in results if key.startswith("split"))
    scores = np.array([results[key] for key in folds])
    missing = np.argwhere(~np.isfinite(scores))
    if len(missing):
        fold, k = missing[0]
        params = results["params"][k].items()
        shown = ", ".join(f"{short[n]}={v!r}" for n, v in params)
        raise ValueError(
            f"{len(missing)} scores of the search are NaN or infinite, the first one "
            f"for {shown} in {folds[fold]}. Give folds (cv) on which the score can be "
            "computed, or another scoring."
        )


def _with_validation(rows: tuple, validation: tuple) -> tuple[Any, Any, Any, list]:
    """Rows and those for validation as one, and the one fold that tells them apart."""
    (X, y, weight), (X_val, y_val, weight_val) = rows, validation
    if X_val is None and y_val is None:
        raise ValueError("sample_weight_val is given without X_val, its rows.")
    if X_val is None or y_val is None:
        there, gone = ("y_val", "X_val") if X_val is None else ("X_val", "y_val")
        raise ValueError(f"{there} is given without {gone}. Give both, or neither.")
    check_consistent_length(X, y, weight)
    check_consistent_length(X_val, y_val, weight_val)
    texts = [any(isinstance(v, str) for v in np.asarray(each)) for each in (y, y_val)]
    if texts[0] != texts[1]:
        kinds = [("numbers", "text")[text] for text in texts]
        raise ValueError(
            f"y holds {kinds[0]}, y_val {kinds[1]}. Write the labels of both alike."
        )
    both = append_rows(X, X_val)
    n, m = open_table(X).n_rows, open_table(X_val).n_rows
    if weight is not None or weight_val is not None:
        weights = zip((weight, weight_val), (n, m), strict=True)
        weight = np.concatenate([np.ones(k) if w is None else w for w, k in weights])
    fold = np.arange(n), np.arange(n, n + m)
    return both, np.concatenate([np.asarray(y), np.asarray(y_val)]), weight, [fold]


def tune_in_two_stages(
    estimator: Any,
    X: Table,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    X_val: Table | None = None,
    y_val: ArrayLike | None = None,
    sample_weight_val: ArrayLike | None = None,
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
        or :class:`MultiTaskSVR`, with its columns named, a
        :class:`PrivilegedFeatureSelectionClassifier` over an SVM+, or a
        :class:`~sklearn.pipeline.Pipeline` that ends with one, such as
        ``make_pipeline(keep_task(StandardScaler(), task=-1), MultiTaskSVC(task=-1))``.
        The plain SVM of a selector sees the selected features alone.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows with all columns.
    y : array-like of shape (n_samples,)
        Labels or numbers.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, in fits and, where `scoring` takes them, in scores.
    X_val, y_val : default=None
        Rows for validation, with the columns of X: candidates are fitted to all of X
        and scored on these, in place of `cv`, and the best one is fitted to X again.
    sample_weight_val : array-like of shape (n_validation,), default=None
        Weights of the rows for validation; None with `sample_weight` is 1.
    plain_grid : dict or list of dict, default=None
        Grid of the first search: parameters of the machine by their own names, and of a
        selector (`n_features`, `ranking`, ...), those of other steps by
        ``step__name``. None is C in 0.1, 1, 10, 100 (regression: analytic C, and
        epsilon in 0.3, 1 and 3 times the analytic one), and for rbf and poly gamma in
        0.1, 1 and 10 times that of "scale".
    correction_grid : dict or list of dict, default=None
        Grid of the second search, of parameters whose names begin with
        ``correction_``. None is `correction_penalty` in 0.01, 0.1, 1, 10, 100, and
        for rbf and poly `correction_gamma` in 0.1, 1 and 10 times that of "scale".
    cv : int, splitter or iterable, default=5
        Folds, the same ones in both searches. With tasks or groups, a number gives
        each fold its fraction of every task, in the proportions of its classes, as
        :class:`kinlearn.model_selection.TaskStratifiedKFold` does. A
        :class:`~sklearn.model_selection.PredefinedSplit` says which rows validate.
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
    place = Place.of(estimator)
    data = place.data(X, y, sample_weight)
    plain, correction = read_grids(place, data, plain_grid, correction_grid)
    everything, target, weight = X, y, sample_weight
    if X_val is None and y_val is None and sample_weight_val is None:
        folds = _folds(cv, X, y, data)
    else:
        everything, target, weight, folds = _with_validation(
            (X, y, sample_weight), (X_val, y_val, sample_weight_val)
        )
    weights = {} if weight is None else {"sample_weight": np.asarray(weight)}
    # A fit or a score that fails ends the search with its own message.
    options = {
        "cv": folds,
        "scoring": scoring,
        "n_jobs": n_jobs,
        "error_score": "raise",
        "refit": False,
    }

    def run(
        model: Any, grids: list[dict[str, Any]], alone: bool
    ) -> tuple[GridSearchCV, dict[str, Any]]:
        """A search, and the best parameters by the names that the grids have."""
        outer = ""
        if weights and isinstance(model, Pipeline):
            model, outer = _WeightedPipeline(model), "estimator__"
        short = {outer + place.long_name(k, alone): k for each in grids for k in each}
        long = {name: key for key, name in short.items()}
        grids = [{long[k]: v for k, v in each.items()} for each in grids]
        search = GridSearchCV(model, grids, **options)
        set_callbacks(search, callbacks)
        with warnings.catch_warnings():
            # callbacks see the fits of the search; what is inside one is short
            warnings.filterwarnings("ignore", ".*does not support callbacks")
            warnings.filterwarnings("ignore", ".*scores are non-finite")
            search.fit(everything, target, **weights)
        _check_scores(search.cv_results_, short)
        return search, {short[k]: v for k, v in search.best_params_.items()}

    def with_params(model: Any, params: dict[str, Any]) -> Any:
        params = {place.long_name(k, False): v for k, v in params.items()}
        return clone(model).set_params(**params)

    alone = place.with_machine(_PlainMachine(place.machine))
    first, best = run(alone, plain, True)
    second, corrected = run(with_params(place.estimator, best), correction, False)
    model = with_params(place.estimator, {**best, **corrected})
    return TwoStageResult(
        best_estimator=_fit(model, X, y, sample_weight),
        best_params={**best, **corrected},
        best_score=float(second.best_score_),
        plain_score=float(first.best_score_),
        plain_results=first.cv_results_,
        correction_results=second.cv_results_,
    )


def _fit(model: Any, X: Table, y: ArrayLike, weight: ArrayLike | None) -> Any:
    if weight is None:
        return model.fit(X, y)
    if isinstance(model, Pipeline):
        return model.fit(X, y, **{f"{model.steps[-1][0]}__sample_weight": weight})
    return model.fit(X, y, sample_weight=weight)
