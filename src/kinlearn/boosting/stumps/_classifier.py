"""Boosting over two-task stumps: MTAA and MT-AdaBoost.MH (Faddoul 2012)."""

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state

from kinlearn.boosting._calibration import Calibration, deal_rows, log_fractions
from kinlearn.boosting._early_stopping import hold_back
from kinlearn.boosting._start_weights import (
    INIT_WEIGHTS,
    row_weights,
    weighted_label_sets,
)
from kinlearn.boosting.stumps._categories import category_ranks, to_ranks
from kinlearn.boosting.stumps._indicators import (
    Indicators,
    IndicatorScores,
    find_indicators,
)
from kinlearn.boosting.stumps._later import LaterRounds
from kinlearn.boosting.stumps._predictions import StumpScores, StumpVoter, class_mass
from kinlearn.boosting.stumps._rounds import Boosted, StumpRun, StumpSettings, Watch
from kinlearn.boosting.stumps._rows import BoostedRows
from kinlearn.boosting.stumps._search import CHOOSERS, RootChoice
from kinlearn.exceptions import TaskFallbackWarning
from kinlearn.tables.internal import CODES
from kinlearn.tasks import LabelSets, TaskMixin, TaskRows
from kinlearn.utils import quiet_round, rounds_with_callbacks
from kinlearn.utils._callbacks import CallbackSupportMixin, with_callbacks
from kinlearn.utils._sklearn import Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, LabelRule, RandomState, Table, TaskColumn

__all__ = ["AbstainingAdaBoostClassifier"]

_MOST_ROUNDS = 5000


class AbstainingAdaBoostClassifier(
    ClassifierMixin, CallbackSupportMixin, LaterRounds, StumpVoter, BaseEstimator
):
    r"""Boosting over two-task stumps, which abstain on all other tasks.

    Every round adds a *two-task stump*: a test at the root that labels one task,
    and below each branch a test that labels another. So what is learned for one
    task divides the space for the next; no rows need be shared, and each task may
    have labels of its own. With the weights D of the rows and :math:`W_+, W_-,
    W_0` their sums over right, wrong and abstained predictions, the stump is sought
    that minimises :math:`W_- + W_0/2`, and votes with

    .. math::

        \alpha = \tfrac12 \ln \frac{W_+ + \epsilon}{W_- + \epsilon}, \qquad
        D(x, y, j) \leftarrow D(x, y, j)\, e^{-\alpha\, y\, h_j(x)} / Z.

    The training error, by the weights to begin with, is at most the product of
    all Z, which are kept in `normalizers_`.

    Tasks with more than two classes are boosted by MT-AdaBoost.MH: weights belong
    to pairs of row and label, and a branch k predicts the scores
    :math:`c_{kl} = \tfrac12 \ln((W_+^{kl} + \epsilon) / (W_-^{kl} + \epsilon))`.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of rounds. A round serves two tasks, so T rounds for one task are
        about N T / 2 for N tasks: "auto" is 50 for each task, and at least 100
        and at most 5,000 in all.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    algorithm : {"auto", "mtaa", "mh"}, default="auto"
        Signs or scores. "auto" is "mtaa" if no task has more than two classes.
    weighting : {"optimal", "conservative"}, default="optimal"
        With "conservative", abstained weight counts as half right and half wrong
        in the vote of MTAA, and grows by :math:`\cosh \alpha`. Its Z is never
        smaller.
    levels : {1, 2}, default=2
        Of a stump. With 1 it is a test at the root alone, which labels one task:
        AdaBoost.MH over decision stumps, in which tasks share nothing but the order of
        the rounds; the thesis's rival.
    root : {"best", "best_per_task", "stochastic"}, default="best"
        How candidates for the root are chosen among all pairs of task and test:
        those of the lowest score, those of each task, or by a draw with
        probabilities inversely proportional to the score. For each of them the
        best children are found, and the best tree is taken.
    n_roots : int, default=30
        Number of candidates; for each task with "best_per_task", where a few are
        enough.
    smoothing : float, default=None
        The :math:`\epsilon` above, as a fraction of all weight; None is 1 over the
        number of weights. Keeps votes finite. "conservative" votes have none.
    init_weights : {"auto", "uniform", "task", "task_class"}, default="auto"
        What has the same weight in the beginning: each row, each task, or each
        pair of task and class. "auto" is "task_class" for MTAA and "task" for MH,
        as in the thesis.
    max_bins : int, default=255
        Features are sorted into that many bins first, which is exact up to as
        many distinct values.
    early_stopping : bool, default=False
        Whether to hold back some rows, watch the error on them, and keep the
        rounds up to its least value.
    validation_fraction : float, default=0.1
        Fraction of the rows of each class of each task to hold back; of each task, if
        rows have several labels.
    n_iter_no_change : int, default=None
        Rounds without a smaller error after which to stop; None is 5 for each task
        and at least 20.
    calibration_folds : int or None, default=None
        Folds by which the probabilities are calibrated: each is left out once, and
        from the votes for its rows a factor for all votes is learned, and how much
        the classes' fractions count (of MTAA, if classes began with equal weight).
        Takes that many times as long. None: probabilities only rank rows.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict the average over the known tasks
        of the probabilities that each would give to the row; "warn" names them in a
        warning, "share" does not, "error" refuses them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get: its own and those of all tasks that it has one in
        common with, from task to task; its own alone; or those that a mapping from
        tasks to classes gives it. See :ref:`label-sets`.
    categorical_features : "from_dtype", list, mask or None, default="from_dtype"
        Columns whose values are categories, integers from 0 to 253: names, positions,
        or a mask of all columns of X. They are put in the order of their labels, see
        Notes, and a test parts them many against many. Those not seen in fit are
        missing values. "from_dtype": the columns that a data frame says are categories.
    n_jobs : int, default=None
        Threads for the search; the model is the same for any number. Small tables
        are searched by one.
    random_state : int, RandomState instance or None, default=None
        Decides the draws of "stochastic" roots and the rows held back; without
        these nothing is random.

    Attributes
    ----------
    stumps_ : TwoTaskStumps
        The stumps as flat arrays; `kinlearn.boosting.export_text` puts them in
        words.
    n_estimators_ : int
        Number of rounds kept.
    estimator_weights_ : ndarray of shape (n_estimators_,)
        Votes of the stumps; 1 for MH, whose scores weigh themselves.
    normalizers_ : ndarray of shape (n_estimators_,)
        What the weights summed to after the update of each round.
    validation_errors_ : ndarray
        Error on the rows held back, by round and by the weights to begin with; a row
        that nobody votes on counts as a guess. With `early_stopping` only.
    algorithm_ : {"mtaa", "mh"}
        What was used.
    fallback_tasks_ : dict
        Tasks on which every round abstained, with the class that is predicted for
        all their rows: the one of the largest weight. If rows have several labels,
        with the list of those that more than half of the weight has.
    task_affinity_ : ndarray of shape (n_tasks, n_tasks)
        How often two tasks are in one stump: stumps with both, over the geometric
        mean of the stumps with each.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels.
    task_classes_ : dict
        Labels of each task.
    feature_names_ : ndarray of shape (n_features,)
        Names of the features, without the task.
    is_categorical_ : bool array of shape (n_features,), or None
        Which features are categories; None if none is.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    MultiTaskAdaBoostClassifier : Boosting over whole multi-task trees.
    kinlearn.boosting.export_text : A two-task stump in words.
    kinlearn.report.TaskAffinityDisplay : Draws `task_affinity_`.

    Notes
    -----
    Where this differs from the thesis, or it is silent:

    - The printed Z of MH counts the abstained weight once for each branch; here it
      is counted once.
    - A branch predicts its heavier label, so both branches of a stump may predict
      the same; if both labels weigh the same there, it abstains.
    - The tests that are tried for a task are those that divide its own rows, each
      in the middle of its gap. Otherwise the candidates for the root would be many
      copies of one test.
    - With one task there is no other one for the children. They are of the same
      task then, and predict in the root's place: AdaBoost over two-level trees.
    - Categories are put in order once, before the first round: by the fraction of
      the most frequent class in each, less that of its tasks, drawn towards 0
      by one row; those of less than 2 rows count as average. Categories that differ no
      more than noise would stay in the order of their codes. A test cuts the order.
      Tasks that are added later keep it.
    - Tasks with one class are not boosted; that class is predicted. If rows have
      several labels, tasks with one are boosted too.
    - A row for which no stump votes gets the majority class of its task, with a
      score of (almost) nothing; of several labels, those of most rows, with half
      their log-odds.
    - Boosting ends early when :math:`W_+ \le W_-`, or when a stump is right on
      every row, since all others would be the same.
    - Probabilities are :math:`1 / (1 + e^{-2 F})`, for each label by itself if rows
      have several, and the softmax of the scores for other MH. They rank, but are not
      calibrated, least of all with equal weight for rare and common classes;
      `calibration_folds` changes that.
    - Missing values go to the side where they serve best; where a node saw none,
      to the heavier side.

    The search sorts the cells of each feature by task and bin once. A round walks
    along them a few times: its cost grows with the stored cells (those not in a
    feature's most frequent bin), not with the number of thresholds or tasks.

    References
    ----------
    J. B. Faddoul, "Méthodes d'ensembles pour l'apprentissage multi-tâche, avec
    des tâches hétérogènes et sans restrictions", thesis, Lille, 2012.

    R. Schapire, Y. Singer, "Improved boosting algorithms using confidence-rated
    predictions", Machine Learning 37, 1999.

    Examples
    --------
    >>> from kinlearn.boosting import AbstainingAdaBoostClassifier
    >>> from kinlearn.datasets import make_linear_classification
    >>> X, y = make_linear_classification(random_state=0)
    >>> model = AbstainingAdaBoostClassifier(50, task=-1).fit(X, y)
    >>> bool(model.score(X, y) <= 1 and model.normalizers_.max() < 1)
    True
    """

    _table_encoding = CODES

    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        **TaskMixin._label_parameter_constraints,
        **TaskMixin._categorical_constraints,
        "n_estimators": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "algorithm": [StrOptions({"auto", "mtaa", "mh"})],
        "weighting": [StrOptions({"optimal", "conservative"})],
        "levels": [Interval(Integral, 1, 2, closed="both")],
        "root": [StrOptions(set(CHOOSERS))],
        "n_roots": [Interval(Integral, 1, None, closed="left")],
        "smoothing": [Interval(Real, 0, 1, closed="left"), None],
        "init_weights": [StrOptions({"auto", *INIT_WEIGHTS})],
        "max_bins": [Interval(Integral, 2, 255, closed="both")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "calibration_folds": [Interval(Integral, 2, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators: int | Literal["auto"] = "auto",
        *,
        task: TaskColumn = None,
        algorithm: Literal["auto", "mtaa", "mh"] = "auto",
        weighting: Literal["optimal", "conservative"] = "optimal",
        levels: Literal[1, 2] = 2,
        root: Literal["best", "best_per_task", "stochastic"] = "best",
        n_roots: int = 30,
        smoothing: float | None = None,
        init_weights: Literal["auto", "uniform", "task", "task_class"] = "auto",
        max_bins: int = 255,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        calibration_folds: int | None = None,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.task = task
        self.algorithm = algorithm
        self.weighting = weighting
        self.levels = levels
        self.root = root
        self.n_roots = n_roots
        self.smoothing = smoothing
        self.init_weights = init_weights
        self.max_bins = max_bins
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.calibration_folds = calibration_folds
        self.unknown_task = unknown_task
        self.label_sets = label_sets
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Boost.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column; NaN in a feature is a missing value.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels; or, of rows that have any number of labels, a column of 0 and 1 for
            each label.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; weight 0 is absence.

        Returns
        -------
        AbstainingAdaBoostClassifier
            The fitted classifier.
        """
        self._validate_params()
        indicators = find_indicators(y)
        self._category_ranks: Any = None
        rng = check_random_state(self.random_state)
        self._seed = rng.randint(2**31 - 1)
        if indicators is None:
            data = self._fit_data(X, y, sample_weight, labels="classes")
            label_sets = weighted_label_sets(data)
            self.algorithm_ = self._choose_algorithm(label_sets)
        else:
            self._check_indicators()
            data = indicators.fill_in(self._fit_data(X, None, sample_weight))
            label_sets = indicators.label_sets(data, self.label_sets)
            self.algorithm_ = "mh"
            self.classes_, self._label_sets = indicators.classes, label_sets
        run = self._prepare(data, label_sets, rng, indicators)
        n_tasks = len(run.rows.tasks)
        n_rounds = self._n_rounds(n_tasks)
        self._rounds_per_task = n_rounds / max(n_tasks, 1)
        with rounds_with_callbacks(self, X, y, n_rounds) as on_round:
            boosted = run.play(n_rounds, on_round)
        self.__dict__.pop("validation_errors_", None)  # of an earlier fit
        if run.watch is not None:
            self.validation_errors_ = np.array(run.watch.errors)
        self._calibration = None
        if self.calibration_folds is not None:
            self._calibrate(run, label_sets, len(boosted.stumps))
        if indicators is None:
            mass = class_mass(data, len(data.classes))
            scores = StumpScores.of(mass, label_sets, boosted.stumps)
        else:
            mass, total = indicators.mass(data)
            scores = IndicatorScores.of_rows(mass, total, label_sets, boosted.stumps)
        self._keep(boosted, scores)
        return self

    # ---------------------------------------------------------------- fitting

    def _choose_algorithm(self, label_sets: LabelSets) -> str:
        most = int(np.diff(label_sets.indptr).max())
        if self.algorithm == "mtaa" and most > 2:
            task = self.tasks_.tolist()[int(np.argmax(np.diff(label_sets.indptr)))]
            raise ValueError(
                f"algorithm='mtaa' is for tasks with two classes, and task {task!r} "
                f"has {most}. Use algorithm='mh' or 'auto'."
            )
        fitting = "mtaa" if most <= 2 else "mh"
        return fitting if self.algorithm == "auto" else self.algorithm

    def _check_indicators(self) -> None:
        for name, wrong in (
            ("algorithm", self.algorithm == "mtaa"),
            ("init_weights", self.init_weights == "task_class"),
            ("calibration_folds", self.calibration_folds is not None),
        ):
            if wrong:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is for rows with one label each, "
                    "and y has several columns. Leave it at its default, or give y one "
                    "column."
                )

    def _n_rounds(self, n_tasks: int) -> int:
        if self.n_estimators == "auto":
            return int(np.clip(50 * n_tasks, 100, _MOST_ROUNDS))
        return self.n_estimators

    def _settings(self) -> StumpSettings:
        return StumpSettings(
            algorithm=self.algorithm_,
            weighting=self.weighting,
            choice=RootChoice(self.root, self.n_roots, self._seed),
            smoothing=self.smoothing,
            max_bins=self.max_bins,
            n_jobs=self.n_jobs,
            levels=self.levels,
        )

    def _start(self) -> str:
        if self.init_weights != "auto":
            return self.init_weights
        return "task_class" if self.algorithm_ == "mtaa" else "task"

    def _sizes(self, label_sets: LabelSets) -> np.ndarray:
        """Numbers that a prediction for each task has."""
        sizes = np.diff(label_sets.indptr).astype(np.int32)
        return np.minimum(sizes, 1) if self.algorithm_ == "mtaa" else sizes

    def _prepare(
        self,
        data: Any,
        label_sets: LabelSets,
        rng: np.random.RandomState,
        indicators: Indicators | None = None,
        **before: Any,
    ) -> StumpRun:
        """Rows that are ready to be boosted, some of them held back."""
        held = np.zeros(data.n_samples, dtype=bool)
        if self.early_stopping:
            # sets of labels are too many to hold back some of each
            y = data.y if indicators is None else None
            held = hold_back(
                data.task, y, row_weights(data), self.validation_fraction, rng
            )
        if self.is_categorical_ is not None and self._category_ranks is None:
            self._category_ranks = category_ranks(data, ~held)
            data = replace(data, X=self._ordered(data.X))
        sizes = self._sizes(label_sets)
        start = self._start()
        watched = BoostedRows.of(data, label_sets, held, start, indicators)
        return StumpRun(
            data=data,
            rows=BoostedRows.of(data, label_sets, ~held, start, indicators),
            sizes=sizes,
            settings=self._settings(),
            watch=self._watch(data, watched, sizes, before.get("scores")),
            **before,
        )

    def _ordered(self, X: Any) -> Any:
        """Rows with categories in the order that fit found."""
        if self.is_categorical_ is None:
            return X
        return to_ranks(X, self.is_categorical_, self._category_ranks)

    def _predict_data(
        self, X: Table, *, order: Literal["C", "F"] | None = None
    ) -> TaskRows:
        rows = super()._predict_data(X, order=order)
        return replace(rows, X=self._ordered(rows.X))

    def _watch(
        self,
        data: Any,
        rows: BoostedRows,
        sizes: np.ndarray,
        scores: np.ndarray | None,
    ) -> Watch | None:
        if not len(rows.order):
            return None
        patience = self.n_iter_no_change or max(20, 5 * len(np.unique(data.task)))
        scores = None if scores is None else scores[rows.order]
        return Watch(data.X[rows.order], rows, int(sizes.max()), patience, scores)

    def _keep(self, boosted: Boosted, scores: StumpScores) -> None:
        """Set what is known of the rounds and of the tasks."""
        self.stumps_ = boosted.stumps
        self.n_estimators_ = len(boosted.stumps)
        self.estimator_weights_ = boosted.weights
        self.normalizers_ = boosted.normalizers
        self._saw_missing = boosted.saw_missing
        # rows of weight 0 show nothing, as they are not there
        self.task_classes_ = scores.label_sets.by_task(self.tasks_, self.classes_)
        self._class_scores = replace(scores, calibration=self._calibration)
        self.fallback_tasks_ = self._class_scores.fallbacks(self.tasks_, self.classes_)
        self._warn_of_fallbacks()

    def _calibrate(self, run: StumpRun, label_sets: LabelSets, n_rounds: int) -> None:
        """Learn a factor for votes from rows that were left out."""
        n_folds: Any = self.calibration_folds
        data, weight = run.data, row_weights(run.data)
        there = np.flatnonzero(weight > 0)
        fold = np.full(data.n_samples, -1)
        fold[there] = deal_rows(data.X[there], data.task[there], data.y[there], n_folds)
        scores = np.zeros((data.n_samples, label_sets.n_classes))
        known = np.zeros(data.n_samples, dtype=bool)
        mass = class_mass(data, label_sets.n_classes)
        for k in np.unique(fold[fold >= 0]):  # no more than there are rows
            out = np.flatnonzero(fold == k)
            rows = BoostedRows.of(data, label_sets, fold != k, self._start())
            fitted = replace(run, rows=rows, watch=None).play(n_rounds, quiet_round)
            votes = StumpScores.of(mass, label_sets, fitted.stumps)
            some = TaskRows(data.X[out], data.task[out])
            scores[out] = votes.scores(fitted.stumps, some)
            known[out] = votes.voted[data.task[out]]
        at = np.flatnonzero(known)
        if not len(at):
            return
        task = data.task[at]
        offset = np.zeros((len(at), label_sets.n_classes))
        if self.algorithm_ == "mh" or self._start() == "task_class":
            offset = log_fractions(mass)[task]
        self._calibration = Calibration.learn(
            scores[at], offset, label_sets.allowed(task), data.y[at], weight[at]
        )

    def _warn_of_fallbacks(self) -> None:
        if self.fallback_tasks_:
            first = next(iter(self.fallback_tasks_))
            several = isinstance(self._class_scores, IndicatorScores)
            labels = "labels that most of its rows have are"
            what = labels if several else "most frequent class is"
            warnings.warn(
                f"Every round abstained on task {first!r} "
                f"({len(self.fallback_tasks_)} of {len(self.tasks_)} tasks are like "
                f"that): the {what} predicted for it. See "
                "fallback_tasks_; more rounds, or root='best_per_task', may help.",
                TaskFallbackWarning,
                stacklevel=4,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
