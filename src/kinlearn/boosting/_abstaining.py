"""Boosting over two-task stumps: MTAA and MT-AdaBoost.MH (Faddoul 2012)."""

import warnings
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kinlearn.boosting._boosted_rows import BoostedRows, weighted_label_sets
from kinlearn.boosting._early_stopping import Watch, hold_back
from kinlearn.boosting._roots import CHOOSERS, RootChoice
from kinlearn.boosting._rounds import ScoreRounds, SignRounds
from kinlearn.boosting._score_learner import ScoreLearner
from kinlearn.boosting._search_parts import search_parts
from kinlearn.boosting._sign_learner import SignLearner
from kinlearn.boosting._sorted_cells import SortedCells
from kinlearn.boosting._start_weights import INIT_WEIGHTS, row_weights
from kinlearn.boosting._stump_answers import StumpAnswers
from kinlearn.boosting._stumps import StumpBuilder
from kinlearn.exceptions import TaskFallbackWarning
from kinlearn.tasks import TaskMixin
from kinlearn.utils import rounds_with_callbacks
from kinlearn.utils._sklearn import Interval, StrOptions

__all__ = ["AbstainingAdaBoostClassifier"]

_MOST_ROUNDS = 5000


class AbstainingAdaBoostClassifier(
    ClassifierMixin, CallbackSupportMixin, TaskMixin, BaseEstimator
):
    r"""Boosting over two-task stumps, which abstain on all other tasks.

    Every round adds a *two-task stump*: a test at the root that labels one task,
    and below each branch a test that labels another. So what is learned for one
    task divides the space for the next; no rows need be shared, and each task may
    have labels of its own. With the weights D of the rows and :math:`W_+, W_-,
    W_0` their sums over right, wrong and abstained answers, the stump is sought
    that minimises :math:`W_- + W_0/2`, and votes with

    .. math::

        \alpha = \tfrac12 \ln \frac{W_+ + \epsilon}{W_- + \epsilon}, \qquad
        D(x, y, j) \leftarrow D(x, y, j)\, e^{-\alpha\, y\, h_j(x)} / Z.

    The training error, by the weights to begin with, is at most the product of
    all Z, which are kept in `normalizers_`.

    Tasks with more than two classes are boosted by MT-AdaBoost.MH: weights belong
    to pairs of row and label, and a branch k answers with the scores
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
    root : {"best", "best_per_task", "stochastic"}, default="best"
        How candidates for the root are chosen among all pairs of task and test:
        those of the lowest score, those of each task, or by a draw with
        probabilities inversely proportional to the score. For each of them the
        best children are found, and the best tree is taken.
    n_roots : int, default=30
        Number of candidates; for each task with "best_per_task", where a few are
        enough.
    smoothing : float, default=None
        The :math:`\epsilon` above, as a share of all weight; None is 1 over the
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
        Share of the rows of each class of each task to hold back.
    n_iter_no_change : int, default=None
        Rounds without a smaller error after which to stop; None is 5 for each task
        and at least 20.
    unknown_task : {"error", "share"}, default="error"
        What to do about tasks not seen in fit: refuse them, or answer with the
        average over the known tasks of the probabilities that each would give to
        the row.
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
        Tasks on which every round abstained, with the class that is answered for
        all their rows: the one of the largest weight.
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
    - A branch answers with its heavier label, so both branches of a stump may
      answer the same; if both labels weigh the same there, it abstains.
    - The tests that are tried for a task are those that divide its own rows, each
      in the middle of its gap. Otherwise the candidates for the root would be many
      copies of one test.
    - With one task there is no other one for the children. They are of the same
      task then, and answer in the root's place: AdaBoost over two-level trees.
    - Tasks with one class are not boosted; they have one answer.
    - A row for which no stump votes gets the majority class of its task, with a
      score of (almost) nothing.
    - Boosting ends early when :math:`W_+ \le W_-`, or when a stump is right on
      every row, since all others would be the same.
    - Probabilities are :math:`1 / (1 + e^{-2 F})`, and the softmax of the scores
      for MH. They rank, but are not calibrated, least of all with equal weight for
      rare and common classes.
    - Missing values go to the side where they serve best; where a node saw none,
      to the heavier side.

    The search sorts the cells of each feature by task and bin once. A round walks
    along them a few times: its cost grows with the stored cells (those not in a
    feature's most frequent bin), not with the number of thresholds or tasks.

    References
    ----------
    J. B. Faddoul, "Modèles d'ensembles pour l'apprentissage multi-tâche, avec
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

    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        "n_estimators": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "algorithm": [StrOptions({"auto", "mtaa", "mh"})],
        "weighting": [StrOptions({"optimal", "conservative"})],
        "root": [StrOptions(set(CHOOSERS))],
        "n_roots": [Interval(Integral, 1, None, closed="left")],
        "smoothing": [Interval(Real, 0, 1, closed="left"), None],
        "init_weights": [StrOptions({"auto", *INIT_WEIGHTS})],
        "max_bins": [Interval(Integral, 2, 255, closed="both")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators="auto",
        *,
        task=None,
        algorithm="auto",
        weighting="optimal",
        root="best",
        n_roots=30,
        smoothing=None,
        init_weights="auto",
        max_bins=255,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=None,
        unknown_task="error",
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.task = task
        self.algorithm = algorithm
        self.weighting = weighting
        self.root = root
        self.n_roots = n_roots
        self.smoothing = smoothing
        self.init_weights = init_weights
        self.max_bins = max_bins
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.unknown_task = unknown_task
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Boost.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column; NaN in a feature is a missing value.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; weight 0 is absence.

        Returns
        -------
        AbstainingAdaBoostClassifier
            The fitted classifier.
        """
        self._validate_params()
        data = self._fit_data(X, y, sample_weight, labels="classes")
        rng = check_random_state(self.random_state)
        seed = rng.randint(2**31 - 1)
        label_sets = weighted_label_sets(data)
        self.algorithm_ = self._choose_algorithm(label_sets)
        held = np.zeros(data.n_samples, dtype=bool)
        if self.early_stopping:
            held = hold_back(
                data.task, data.y, row_weights(data), self.validation_fraction, rng
            )
        init = self.init_weights
        if init == "auto":
            init = "task_class" if self.algorithm_ == "mtaa" else "task"
        rows = BoostedRows.of(data, label_sets, ~held, init)
        sizes = np.diff(label_sets.indptr).astype(np.int32)
        if self.algorithm_ == "mtaa":
            sizes = np.minimum(sizes, 1)
        watch = self._watch(data, label_sets, held, init, sizes)
        n_rounds = self._n_rounds(len(rows.tasks))
        with rounds_with_callbacks(self, X, y, n_rounds) as on_round:
            self._boost(data, rows, sizes, n_rounds, watch, seed, on_round)
        self._answers = StumpAnswers.of(data, label_sets, self.stumps_)
        self.fallback_tasks_ = self._answers.fallbacks(data.tasks, data.classes)
        self._warn_of_fallbacks()
        return self

    # ---------------------------------------------------------------- fitting

    def _choose_algorithm(self, label_sets):
        most = int(np.diff(label_sets.indptr).max())
        if self.algorithm == "mtaa" and most > 2:
            task = self.tasks_.tolist()[int(np.argmax(np.diff(label_sets.indptr)))]
            raise ValueError(
                f"algorithm='mtaa' is for tasks with two classes, and task {task!r} "
                f"has {most}. Use algorithm='mh' or 'auto'."
            )
        fitting = "mtaa" if most <= 2 else "mh"
        return fitting if self.algorithm == "auto" else self.algorithm

    def _n_rounds(self, n_tasks):
        if self.n_estimators == "auto":
            return int(np.clip(50 * n_tasks, 100, _MOST_ROUNDS))
        return self.n_estimators

    def _watch(self, data, label_sets, held, init, sizes):
        if not held.any():
            return None
        rows = BoostedRows.of(data, label_sets, held, init)
        patience = self.n_iter_no_change or max(20, 5 * data.n_tasks)
        return Watch(data.X[rows.order], rows, int(sizes.max()), patience)

    def _boost(self, data, rows, sizes, n_rounds, watch, seed, on_round):
        """All rounds; keeps the stumps and what is known of them."""
        table = SortedCells.of(
            data.X, rows.order, rows.indptr, data.sample_weight, self.max_bins
        )
        self._saw_missing = table.has_missing
        builder = StumpBuilder(table.bins, rows.tasks, sizes)
        steps: list = []
        with search_parts(table, effective_n_jobs(self.n_jobs)) as run:
            rounds = self._rounds(table, rows, run, seed)
            for number in range(n_rounds if len(rows.order) else 0):
                with on_round(number) as told:
                    step = rounds.play(number)
                    if step is None:
                        break
                    steps.append((step.weight, step.normalizer))
                    stump = builder.add(step.nodes)
                    if step.last or (watch is not None and watch.tired(stump)):
                        break
                if told.stop:
                    break
        kept = len(steps) if watch is None else watch.n_best
        self.stumps_ = builder.finish(kept)
        self.n_estimators_ = kept
        self.estimator_weights_, self.normalizers_ = (
            np.array(steps[:kept], dtype=np.float64).reshape(-1, 2).T.copy()
        )
        self.__dict__.pop("validation_errors_", None)  # of an earlier fit
        if watch is not None:
            self.validation_errors_ = np.array(watch.errors)

    def _rounds(self, table, rows, run, seed):
        choice = RootChoice(self.root, self.n_roots, seed)
        if self.algorithm_ == "mtaa":
            smoothing = self._epsilon(rows.unit.sum())
            sign = np.where(rows.label == 1, 1, -1).astype(np.int8)
            learner = SignLearner(table, choice, run)
            return SignRounds(
                table, sign, rows.start, rows.unit, learner, self.weighting, smoothing
            )
        n_labels = np.repeat(rows.n_labels, np.diff(rows.indptr))
        smoothing = self._epsilon((rows.unit * n_labels).sum())
        scorer = ScoreLearner(table, choice, run, rows.n_labels, rows.label, smoothing)
        return ScoreRounds(
            table, rows.label, rows.n_labels, rows.start, rows.unit, scorer
        )

    def _epsilon(self, n_weights):
        return 1.0 / max(n_weights, 1.0) if self.smoothing is None else self.smoothing

    def _warn_of_fallbacks(self):
        if self.fallback_tasks_:
            first = next(iter(self.fallback_tasks_))
            warnings.warn(
                f"Every round abstained on task {first!r} "
                f"({len(self.fallback_tasks_)} of {len(self.tasks_)} tasks are like "
                "that): the most frequent class is answered for it. See "
                "fallback_tasks_; more rounds, or root='best_per_task', may help.",
                TaskFallbackWarning,
                stacklevel=4,
            )

    @property
    def task_affinity_(self):
        """How often two tasks are in one stump."""
        check_is_fitted(self)
        return self.stumps_.affinity()

    # -------------------------------------------------------------- answering

    def decision_function(self, X):
        """Scores of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Sums of the votes; for two classes in all, those for the second. A class
            that the task lacks has less than any class could have.
        """
        rows = self._predict_data(X)
        return self._answers.decision(self._answers.scores(self.stumps_, rows))

    def predict_proba(self, X):
        """Probabilities of the classes, by the logistic function of the scores.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``; zero for classes that the task does
            not have. They rank rows, but are not calibrated.
        """
        rows = self._predict_data(X)
        return self._answers.proba(self._answers.scores(self.stumps_, rows), rows.task)

    def predict(self, X):
        """The class with the largest score.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes, each one of its task's.
        """
        rows = self._predict_data(X)
        scores = self._answers.scores(self.stumps_, rows)
        return self.classes_[np.argmax(scores, axis=1)]

    def staged_decision_function(self, X):
        """Scores of the classes after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            As `decision_function` gives them.
        """
        for scores, _ in self._staged(X):
            yield self._answers.decision(scores)

    def staged_predict_proba(self, X):
        """Probabilities of the classes after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            As `predict_proba` gives them.
        """
        for scores, task in self._staged(X):
            yield self._answers.proba(scores, task)

    def staged_predict(self, X):
        """The class with the largest score after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples,)
            Classes.
        """
        for scores, _ in self._staged(X):
            yield self.classes_[np.argmax(scores, axis=1)]

    def _staged(self, X):
        rows = self._predict_data(X)
        for scores in self._answers.staged_scores(self.stumps_, rows):
            yield scores, rows.task

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
