"""Two-stage tuning (Cai 2011): first as a plain SVM, then what is of SVM+ alone."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from kinlearn.svm._analytic import analytic_C, analytic_epsilon
from kinlearn.svm._plus_base import without_task
from kinlearn.svm._space import make_space
from kinlearn.tasks import check_task_data, check_task_rows

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
        These parameters.
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


class _PlainMachine(BaseEstimator):
    """The estimator as a plain SVM: one function, free slacks, features alone.

    It takes the same X, so that folds, scorers and searches see the same rows.
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, **weights):
        params = self.estimator.get_params(deep=False)
        data = check_task_data(X, accept_sparse=True, **_columns(params))
        self._columns = without_task(data.columns)
        alone: dict = dict.fromkeys(("task", "group", "privileged"))
        alone["correction_penalty"] = 1e12  # one task alone corrects nothing
        alone = {name: value for name, value in alone.items() if name in params}
        self.estimator_ = clone(self.estimator).set_params(**alone)
        self.estimator_.fit(data.X, y, **weights)
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
        return self

    def _features(self, X):
        none = np.zeros(1, dtype=int)
        return check_task_rows(
            X, columns=self._columns, tasks=none, accept_sparse=True
        ).X

    def predict(self, X):
        return self.estimator_.predict(self._features(X))

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X):
        return self.estimator_.decision_function(self._features(X))

    def score(self, X, y, **weights):
        return self.estimator_.score(self._features(X), y, **weights)

    def __sklearn_tags__(self):
        return get_tags(self.estimator)


def _columns(params):
    """Which columns are no features, as `check_task_data` calls them."""
    task = params.get("task") if params.get("group") is None else params["group"]
    return {"task": task, "privileged": params.get("privileged")}


def _default_grids(estimator, data):
    """Grids for what the kernels and the kind of target have."""
    params = estimator.get_params(deep=False)
    X = data.X
    Z = X if data.privileged is None else data.privileged
    plain: dict[str, list] = {"C": list(_COSTS)}
    if not is_classifier(estimator):
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


def _check_grid(grid, second, estimator):
    """A stage has its own parameters; a grid may be a list of grids."""
    for part in [grid] if isinstance(grid, dict) else grid:
        strange = [n for n in part if n.startswith(_OF_CORRECTION) != second]
        if strange:
            stage = "correction_grid" if second else "plain_grid"
            other = "plain_grid" if second else "correction_grid"
            raise ValueError(
                f"{stage} of {type(estimator).__name__} holds {strange[0]!r}, which "
                f"belongs into {other}: the names of the second stage begin with "
                f"{_OF_CORRECTION!r}."
            )


def tune_in_two_stages(
    estimator,
    X,
    y,
    *,
    plain_grid=None,
    correction_grid=None,
    cv=5,
    scoring=None,
    n_jobs=None,
    callbacks=(),
):
    """Tune an SVM+ or a multi-task SVM, in two searches instead of one large one.

    The first search takes the estimator as a plain SVM on the features alone (no
    tasks, groups or privileged columns) and tunes C, epsilon and the kernel. The
    second keeps these, and tunes the penalty and the kernel of the corrections.
    Four parameters of four values each are 16 + 16 fits instead of 256.

    Parameters
    ----------
    estimator : estimator
        :class:`SVMPlusClassifier`, :class:`SVMPlusRegressor`, :class:`MultiTaskSVC`
        or :class:`MultiTaskSVR`, with its columns named.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows with all columns.
    y : array-like of shape (n_samples,)
        Labels or numbers.
    plain_grid : dict or list of dict, default=None
        Grid of the first search. None is C in 0.1, 1, 10, 100 (regression: analytic
        C, and epsilon in 0.3, 1 and 3 times the analytic one), and for rbf and poly
        gamma in 0.1, 1 and 10 times that of "scale".
    correction_grid : dict or list of dict, default=None
        Grid of the second search, of parameters whose names begin with
        ``correction_``. None is `correction_penalty` in 0.01, 0.1, 1, 10, 100, and
        for rbf and poly `correction_gamma` in 0.1, 1 and 10 times that of "scale".
    cv : int, splitter or iterable, default=5
        Folds, the same ones in both searches.
    scoring : str, callable or None, default=None
        What to maximise; None is the estimator's own score.
    n_jobs : int or None, default=None
        Fits at a time, as in scikit-learn.
    callbacks : sequence of callbacks, default=()
        Scikit-learn's callbacks for both searches, such as
        ``[sklearn.callback.ProgressBar()]``.

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
    data = check_task_data(
        X,
        y,
        labels="classes" if is_classifier(estimator) else "numbers",
        accept_sparse=True,
        estimator=type(estimator).__name__,
        **_columns(estimator.get_params(deep=False)),
    )
    defaults = _default_grids(estimator, data)
    plain_grid = defaults[0] if plain_grid is None else plain_grid
    correction_grid = defaults[1] if correction_grid is None else correction_grid
    _check_grid(plain_grid, False, estimator)
    _check_grid(correction_grid, True, estimator)
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    folds = list(splitter.split(X, y))
    options = {"cv": folds, "scoring": scoring, "n_jobs": n_jobs}

    def run(model, grid, **more):
        search = GridSearchCV(model, grid, **options, **more)
        if callbacks:
            search.set_callbacks(*callbacks)
        with warnings.catch_warnings():
            # callbacks see the fits of the search; what is inside one is short
            warnings.filterwarnings("ignore", ".*does not support callbacks")
            return search.fit(X, y)

    grids = [plain_grid] if isinstance(plain_grid, dict) else plain_grid
    inner = [{f"estimator__{k}": v for k, v in part.items()} for part in grids]
    first = run(_PlainMachine(estimator), inner, refit=False)
    best = {k.removeprefix("estimator__"): v for k, v in first.best_params_.items()}
    second = run(clone(estimator).set_params(**best), correction_grid)
    return TwoStageResult(
        best_estimator=second.best_estimator_,
        best_params={**best, **second.best_params_},
        best_score=float(second.best_score_),
        plain_score=float(first.best_score_),
        plain_results=first.cv_results_,
        correction_results=second.cv_results_,
    )
