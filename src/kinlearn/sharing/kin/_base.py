"""What the Kin estimators have in common: try candidates, weigh them, predict."""

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from numbers import Integral, Real
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from kinlearn.boosting.gradient import GradientBoostingBase
from kinlearn.exceptions import (
    KinlearnWarning,
    SingularFitWarning,
    UnusedColumnWarning,
)
from kinlearn.sharing.kin._candidates import (
    CAUTIONS,
    EFFORTS,
    FAMILIES,
    FORMS,
    ROLES,
    Candidate,
    Size,
    choose_candidates,
    own_candidates,
)
from kinlearn.sharing.kin._combine import (
    Calibration,
    Evidence,
    combine,
    corrected,
)
from kinlearn.sharing.kin._features import Standardisation
from kinlearn.sharing.kin._folds import rows_of, rows_to_folds, tasks_to_folds
from kinlearn.sharing.kin._groups import find_groups
from kinlearn.sharing.kin._levels import Levels, NewTasks
from kinlearn.sharing.kin._models import MeanOf
from kinlearn.sharing.kin._scores import Scores, importance_of_columns
from kinlearn.sharing.kin._training import Table, TrainingTable, predict_with
from kinlearn.sharing.kin._trials import Clock, Trials
from kinlearn.sharing.kin._weights import SCALES, without_traces
from kinlearn.tables.internal import CODES
from kinlearn.tasks import TaskData, TaskMixin, TaskRows, check_total_weight
from kinlearn.tasks.internal import split_path
from kinlearn.trees.extra import MultiTaskExtraTreesBase
from kinlearn.utils._callbacks import CallbackSupportMixin, with_callbacks
from kinlearn.utils._sklearn import Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, LabelRule, RandomState, TaskPath

__all__ = ["Effort", "Family", "KinBase"]

_FEW_COLUMNS, _DENSE = 100, 0.2  # a sparse X with these is taken for a dense one
_LEAST_ROWS = 10.0  # fewer, by their weights, are too few to learn anything

Family: TypeAlias = Literal["linear", "svm", "trees", "boosting"]
Effort: TypeAlias = Literal["fast", "standard", "best"]


class KinBase(
    CallbackSupportMixin, NewTasks, TaskMixin, BaseEstimator, metaclass=ABCMeta
):
    """What the classifier and the regressor have in common."""

    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        "task": [str, Integral, list, tuple, None],
        "families": [StrOptions({"all", *FAMILIES}), "array-like"],
        "effort": [StrOptions(set(EFFORTS))],
        "estimators": [Mapping, None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "scoring": [str, callable, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    _table_encoding = CODES  # linear models get other columns, see `_scale`
    _order = None  # candidates get copies of rows
    _kind: str  # of y: "classification" or "regression"
    _levels: Levels | None = None  # above the task, if it has a path of columns

    def __init__(
        self,
        *,
        task: TaskPath = None,
        families: Literal["all"] | Family | Sequence[Family] = "all",
        effort: Effort = "standard",
        estimators: Mapping[str, Any] | None = None,
        n_estimators: int = 200,
        n_folds: int = 5,
        time_limit: float | None = None,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        scoring: str | Callable[..., float] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.task = task
        self.families = families
        self.effort = effort
        self.estimators = estimators
        self.n_estimators = n_estimators
        self.n_folds = n_folds
        self.time_limit = time_limit
        self.unknown_task = unknown_task
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _correction(
        self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> Calibration | None:
        """What calibrates a candidate's predictions out of fold; None is nothing."""
        return None

    def _corrections_by(self, evidence: Evidence) -> list[Calibration | None]:
        """The same for each of the candidates."""
        return [
            self._correction(each, evidence.y, evidence.weight)
            for each in evidence.predictions
        ]

    @abstractmethod
    def _calibrate(
        self,
        known: tuple[np.ndarray, np.ndarray, np.ndarray],
        unseen: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
    ) -> None:
        """Learn what is left to learn from combinations that are out of fold.

        Both are predictions, targets and weights; `unseen` may be None.
        """

    def _remember_group_temperature(self, found: Any) -> None:
        """Learn the same for tasks whose groups are new too, one level more."""

    def _calibrated_in_turn(
        self,
        predictions: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        fold: np.ndarray,
    ) -> np.ndarray:
        """Combinations that are out of fold, calibrated by rows of other folds."""
        return predictions

    def _remember_scores(
        self, name: str, predictions: np.ndarray, rows: np.ndarray, scores: Scores
    ) -> None:
        """Keep what combinations that are out of fold are worth."""
        setattr(self, f"{name}_score_", scores.of(predictions, rows))

    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Try the candidates, weigh them for each task, and fit those that count.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column; NaN in features is a missing value. A sparse X
            of more than 100 columns, with less than a fifth of its cells filled, stays
            sparse: it has linear models and multi-task boosting, but no trees.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights. A weight of 2 is the same as two rows, 0 the same as none. Two
            things count rows instead: whether a task has enough for a model of its
            own, and the leaves and bins of gradient boosting.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        clock = Clock(self.time_limit)
        data, origin = self._open(X, y, sample_weight)
        random = check_random_state(self.random_state)
        seed = int(random.randint(np.iinfo(np.int32).max))
        rows = rows_to_folds(data, self.n_folds, random)
        data, fold, task_rows = rows.data, rows.fold, rows.task_rows
        scores = Scores(self.scoring, X, origin[rows.origin], data)
        candidates = self._candidates(data, task_rows, seed)
        candidates, unable = self._able(data, candidates)
        train = self._training_table(data, candidates)
        task_fold = None
        group_folds: list[np.ndarray] = []
        if self.unknown_task != "error" and data.n_tasks > 1:
            if self._levels is None:
                task_fold = tasks_to_folds(task_rows, self.n_folds, random)[data.task]
            else:
                task_fold, *group_folds = self._levels.folds(
                    task_rows, data.task, self.n_folds, random
                )

        progress = self._init_callback_context(max_subtasks=len(candidates) + 1)
        progress.call_on_fit_task_begin(estimator=self, X=X, y=y)
        with (
            Trials(
                train, fold, task_fold, clock, self.n_jobs, self.effort != "best"
            ) as trials,
            warnings.catch_warnings(),
            # their matrices are small: threads of linear algebra wait for each other
            threadpool_limits(1, user_api="blas"),
        ):
            trials.dropped |= unable
            # of the weights of one task or fold; see _open for all
            warnings.filterwarnings("ignore", "The weights of", KinlearnWarning)
            # effects without variance, and flat likelihoods, predict as well as others
            warnings.simplefilter("ignore", SingularFitWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UnusedColumnWarning)
            self._try(trials, candidates, progress)
            self._weigh(trials, scores, group_folds)
            names = self._with_weight(trials)
            trials.forget_predictions()
            # set before the step begins, so that callbacks can read it
            self.refit_seconds_ = trials.seconds_to_refit(names)
            step = progress.subcontext(task_name="fit of all rows")
            step.call_on_fit_task_begin(estimator=self)
            self._keep(trials, names)
            step.call_on_fit_task_end(estimator=self)
        progress.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _try(self, trials: Trials, candidates: list[Candidate], progress: Any) -> None:
        for candidate in candidates:
            step = progress.subcontext(task_name=candidate.name)
            step.call_on_fit_task_begin(estimator=self)
            trials.run(candidate)
            step.call_on_fit_task_end(estimator=self)
        if not trials.done:
            raise ValueError(
                "No candidate gave finite predictions. Are some values of X or y "
                "extreme? Scale them."
                + " Tried were "
                + ", ".join(map(repr, trials.dropped))
                + "."
            )

    def _data_options(self, order: Any) -> dict[str, Any]:
        return {**super()._data_options(order), "accept_sparse": "csr"}

    def _look_for_groups(self, data: TaskData) -> tuple[float, ...]:
        """Remember groups of like tasks; the cautions that find some worth a model."""
        found = {} if sp.issparse(data.X) else find_groups(data, CAUTIONS)
        groups = [each.tolist() for each in found.values()]
        names = self.tasks_.tolist()
        self.task_groups_ = dict(zip(names, groups[0], strict=True)) if groups else None
        return tuple(
            caution
            for number, caution in enumerate(found)
            # not all tasks in one, nor each in its own, nor the same as before
            if 0 < max(groups[number]) < data.n_tasks - 1
            and groups[number] not in groups[:number]
        )

    def _candidates(
        self, data: TaskData, task_rows: np.ndarray, seed: int
    ) -> list[Candidate]:
        """Ours, if any is wanted, and those of the user's estimators."""
        families, given = self._checked_families(), self._checked_estimators()
        out = []
        if families:
            size = Size(
                task_rows,
                data.X.shape[1],
                2 if data.classes is None else len(data.classes),
                self._look_for_groups(data),
                sp.issparse(data.X),
            )
            out = choose_candidates(
                self._kind,
                size,
                families=families,
                effort=self.effort,
                n_estimators=self.n_estimators,
                seed=seed,
            )
        else:
            self.task_groups_ = None
        out += own_candidates(given, data.n_tasks > 1)
        return out if self._levels is None else self._levels.add_candidates(out)

    def _able(
        self, data: TaskData, candidates: list[Candidate]
    ) -> tuple[list[Candidate], dict[str, str]]:
        """The candidates that take such data, and why others do not."""
        self._sparse = sp.issparse(data.X)
        if not self._sparse:
            return candidates, {}
        able = [
            c
            for c in candidates
            if get_tags(c.estimator).input_tags.sparse
            # these would unpack each cell, stored or not
            and not isinstance(c.estimator, GradientBoostingBase)
            and not isinstance(
                getattr(c.estimator, "estimator", c.estimator), MultiTaskExtraTreesBase
            )
        ]
        if not able:
            raise ValueError(
                f"X is sparse, and no model of families={self.families!r} takes that. "
                'Add "linear" to the families, or reduce X to few dense columns, with '
                "keep_task(TruncatedSVD(100), task=...), or X.toarray()."
            )
        unable = {c.name: "it takes no sparse X" for c in candidates if c not in able}
        return able, unable

    def _open(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[TaskData, np.ndarray]:
        """Checked rows, and where in X; those of weight 0 are as good as absent."""
        labels = "classes" if self._kind == "classification" else "numbers"
        data = self._fit_data(X, y, sample_weight, labels=labels)
        self._levels = None if data.paths is None else Levels.of(data.paths)
        if sp.issparse(data.X) and _is_better_dense(data.X):
            data = replace(data, X=data.X.toarray())
        weight = data.sample_weight
        if weight is None:
            return data, np.arange(data.n_samples)
        check_total_weight(weight)
        n_rows = np.count_nonzero(weight)
        if weight.sum() < _LEAST_ROWS <= n_rows:
            warnings.warn(
                f"The weights of {n_rows} rows sum to {weight.sum():g}. A "
                "weight counts as that many rows, so every task follows the crowd and "
                "trees have no splits; scale the weights to a mean of 1.",
                KinlearnWarning,
                stacklevel=4,
            )
        seen = np.flatnonzero(weight)
        return (data if weight.all() else rows_of(data, seen)), seen

    def _checked_families(self) -> tuple[str, ...]:
        if isinstance(self.families, str):
            return FAMILIES if self.families == "all" else (self.families,)
        strange = [name for name in self.families if name not in FAMILIES]
        if strange or not (len(self.families) or self.estimators):
            found = f"{strange[0]!r}" if strange else "nothing"
            raise ValueError(
                f'families must be "all" or some of {", ".join(map(repr, FAMILIES))}; '
                f"found {found}. None of them is allowed beside `estimators`."
            )
        return tuple(self.families)

    def _checked_estimators(self) -> Mapping[str, Any]:
        able = is_classifier if self._kind == "classification" else is_regressor
        kind = "classifier" if self._kind == "classification" else "regressor"
        given = self.estimators or {}
        for name, value in given.items():
            pair: Any = value if isinstance(value, tuple) else (value, FORMS)
            estimator, forms = pair if len(pair) == 2 else (pair, FORMS)
            is_class = isinstance(estimator, type)
            if is_class or not hasattr(estimator, "fit") or not able(estimator):
                found = type(estimator).__name__
                if is_class:
                    found = f"the class {estimator.__name__}, not an instance"
                raise TypeError(
                    f"estimators[{name!r}] must be a {kind}, or a pair of one and its "
                    f"forms; found {found}."
                )
            scores = ("predict_proba", "decision_function")
            if kind == "classifier" and not any(hasattr(estimator, s) for s in scores):
                raise TypeError(
                    f"estimators[{name!r}] ({type(estimator).__name__}) has neither "
                    "predict_proba nor decision_function, by which candidates are "
                    "weighed. Wrap it in sklearn.calibration.CalibratedClassifierCV."
                )
            strange = [form for form in forms if form not in FORMS]
            if isinstance(forms, str) or strange or not forms:
                raise ValueError(
                    f"The forms of estimators[{name!r}] must be a list of some of "
                    f"{', '.join(map(repr, FORMS))}; found {forms!r}."
                )
        return given

    def _training_table(
        self, data: TaskData, candidates: list[Candidate]
    ) -> TrainingTable:
        weight: Any = data.sample_weight
        weighted = weight is not None
        weight = weight if weighted else np.ones(data.n_samples)
        self._scale = None
        if any(candidate.scaled for candidate in candidates):
            self._scale = Standardisation.of(data.X, weight, data.categorical)
        codes = () if data.categorical is None else np.flatnonzero(data.categorical)
        groups = None if self._levels is None else self._levels.groups[:, data.task]
        return TrainingTable(
            Table(data.X, data.task, self._scale, groups),
            data.y,
            weight,
            weighted,
            data.n_tasks,
            0 if data.classes is None else len(data.classes),
            list(codes),
            0 if self._scale is None else self._scale.n_codes,
            self._label_rule(),
        )

    def _label_rule(self) -> LabelRule:
        """`label_sets` in terms of codes."""
        rule: LabelRule = getattr(self, "label_sets", "connected")
        if isinstance(rule, str):
            return rule
        sets = self._label_sets
        return {
            t: sets.codes[sets.indptr[t] : sets.indptr[t + 1]].tolist()
            for t, name in enumerate(self.tasks_.tolist())
            if name in rule
        }

    def _weigh(
        self, trials: Trials, scores: Scores, group_folds: Sequence[np.ndarray]
    ) -> None:
        """Learn the weights, and score the combination on rows it did not see."""
        done, train = list(trials.done.values()), trials.train
        held = np.flatnonzero(trials.fold >= 0)
        raw = train.evidence([trial.predictions for trial in done], held)
        evidence = self._weigh_in_turn(raw, trials.fold[held])
        del raw  # large, of many rows
        honest = self._calibrated_in_turn(*evidence, trials.fold[held])
        self._remember_scores("seen", honest, held, scores)
        _, y, weight = evidence
        self._remember_errors(honest, y, train.table.task[held], weight)
        self._remember_background(train.table, train.weight)
        self._calibrate(evidence, self._weigh_for_unseen(trials, done, scores))
        self._weigh_for_new_groups(trials, done, scores, group_folds)

    def _weigh_in_turn(
        self, raw: Evidence, fold: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Learn the weights by task, and combine each fold by those of the others.

        Returns these combinations, targets and weights.
        """
        self._corrections = self._corrections_by(raw)
        known = raw.corrected(self._corrections)
        self.crowd_weights_ = known.crowd()
        learned = known.by_task(self.crowd_weights_)
        self.scale_shares_ = dict(
            zip(SCALES, learned.scale_fractions.tolist(), strict=True)
        )
        self.weights_ = without_traces(learned.by_task)
        seen = np.empty(known.predictions.shape[1:])
        for f in range(int(fold.max()) + 1):
            test = fold == f
            corrections = self._corrections_by(raw.only(~test))
            others, held_out = (
                raw.only(rows).corrected(corrections) for rows in (~test, test)
            )
            weights = others.by_task(others.crowd()).by_task
            seen[test] = held_out.mixed(weights[held_out.task])
        return seen, known.y, known.weight

    def _with_weight(self, trials: Trials) -> list[str]:
        """Names of the candidates that count for some task."""
        used = (self.weights_ > 0).any(axis=0) | (self.unseen_weights_ > 0)
        for weights in self._weights_of_groups:
            used |= weights > 0
        return [name for name, counts in zip(trials.done, used, strict=True) if counts]

    def _keep(self, trials: Trials, names: list[str]) -> None:
        """Fit the candidates that count to all rows, and remember what was done."""
        done = trials.done
        models = dict(zip(names, trials.refit(names), strict=True))
        self.candidates_ = np.array(list(done), dtype=object)
        self.roles_ = np.array([t.candidate.role for t in done.values()], dtype=object)
        self.settings_ = {name: trial.params for name, trial in done.items()}
        self.seconds_ = {name: trial.seconds for name, trial in done.items()}
        self.dropped_ = trials.dropped
        self.models_ = [models.get(name) for name in done]
        self._affinity = self._affinity_by(
            models.get(name, trial.model)
            for name, trial in done.items()
            if trial.candidate.role == "shared"
        )
        self._scaled = [trial.candidate.scaled for trial in done.values()]
        self._level_of = [trial.candidate.level for trial in done.values()]

    def _affinity_by(self, models: Iterable[Any]) -> np.ndarray | None:
        """The affinity of a multi-task forest or booster, with or without weight."""
        for model in models:
            model = model.models[0] if isinstance(model, MeanOf) else model
            if isinstance(model, MultiTaskExtraTreesBase | GradientBoostingBase):
                found = getattr(model, "task_affinity_", None)
                if found is None or len(found) == len(self.tasks_):
                    return found
                out = np.eye(len(self.tasks_))  # some have rows of weight 0 alone
                out[np.ix_(model.tasks_, model.tasks_)] = found
                return out
        return None

    def _task_path(self) -> tuple[tuple[Any, ...], Any]:
        return split_path(self.task)

    def _predict_data(self, X: Any, *, order: Any = None) -> TaskRows:
        rows = super()._predict_data(X, order=order)
        if self._levels is None:
            return rows
        return replace(rows, task=self._levels.codes(rows))

    def _combined(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The combination's predictions, and the rows' tasks."""
        rows = self._predict_data(X)
        return self._mixed(rows.X, rows.task), self._cases(rows.task)

    def _mixed(self, X: Any, code: np.ndarray) -> np.ndarray:
        """The combination's predictions for checked features and task codes."""
        cases = self._cases(code)
        weights, task = self._row_weights(cases), np.maximum(cases, -1)
        groups = None if self._levels is None else self._levels.groups_of(code)
        labels = getattr(self, "_label_sets", None)
        if sp.issparse(X) != self._sparse:  # as the models know it
            X = sp.csr_array(X) if self._sparse else X.toarray()
        table = Table(X, task, self._scale, groups)
        shape = () if labels is None else (labels.n_classes,)
        out = np.zeros((len(task), *shape))
        for k, model in enumerate(self.models_):
            # a model predicts the rows that it has weight for, and no others
            some = np.flatnonzero(weights[:, k])
            if not len(some):
                continue
            level = self._level_of[k] if self._levels is not None else -1
            source = table.rows(self._scaled[k], level, some)
            values = predict_with(model, source, task[some], labels)
            values = corrected(values, self._corrections[k])
            out[some] += combine([values], weights[some, k : k + 1])
        return out

    @property
    def sharing_(self) -> dict[Any, dict[str, float]]:
        """What part of a prediction own, pooled and shared models have, by task.

        Of a path of columns also those of each coarser level.
        """
        check_is_fitted(self)
        roles = ROLES if self._levels is None else (*ROLES, *self._levels.names[:-1])
        sums = {
            role: self.weights_[:, self.roles_ == role].sum(axis=1) for role in roles
        }
        return {
            name: {role: float(sums[role][t]) for role in roles}
            for t, name in enumerate(self.tasks_.tolist())
        }

    @property
    def task_affinity_(self) -> np.ndarray:
        """How often splits of the multi-task forest keep two tasks together.

        Also where the forest has no weight; without it, those of the booster.
        """
        check_is_fitted(self)
        if self._affinity is None:
            raise AttributeError(
                "There is no task_affinity_: no multi-task forest or booster was "
                "fitted to all rows, or there are too many tasks for a matrix."
            )
        return self._affinity

    def permutation_importance(
        self,
        X: Any,
        y: ArrayLike,
        *,
        n_repeats: int = 5,
        scoring: str | Callable[..., float] | None = None,
        sample_weight: ArrayLike | None = None,
        random_state: RandomState = None,
    ) -> Any:
        """How much the score falls when a column is shuffled.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column, best such that were not in `fit`.
        y : array-like of shape (n_samples,)
            Their targets.
        n_repeats : int, default=5
            Shuffles of each column.
        scoring : str or callable, default=None
            A scorer of scikit-learn's; None is `score`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        random_state : int, RandomState instance or None, default=None
            Decides the shuffles.

        Returns
        -------
        Bunch
            ``importances_mean`` and ``importances_std`` by column of X, the task
            included; see :func:`sklearn.inspection.permutation_importance`.
        """
        check_is_fitted(self)
        return importance_of_columns(
            self,
            X,
            y,
            n_repeats=n_repeats,
            scoring=scoring,
            weight=sample_weight,
            random_state=random_state,
        )

    def _html_repr(self) -> str:
        """What notebooks show: of a fitted one what it found, then its parameters."""
        diagram = super()._html_repr()
        if not hasattr(self, "models_"):
            return diagram
        # The one call that goes up a layer, made on request, as of SharingResult.
        report = import_module(f"{__name__.partition('.')[0]}.report.internal")
        return report.with_diagram(report.model_fragment(self), diagram)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _is_better_dense(X: Any) -> bool:
    """Whether a sparse X has few columns or few zeros: all candidates may take part."""
    n_rows, n_columns = X.shape
    return n_columns <= _FEW_COLUMNS or X.nnz >= _DENSE * n_rows * n_columns
