"""KinClassifier: share as much as helps, task by task, for classes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin

from kinlearn.sharing.conformal import SetMethods
from kinlearn.sharing.explain import ExplainMethods
from kinlearn.sharing.kin._base import Effort, Family, KinBase
from kinlearn.sharing.kin._combine import (
    Calibration,
    calibration,
    sharpen,
    temperature,
)
from kinlearn.sharing.kin._scores import Scores
from kinlearn.tasks import TaskMixin
from kinlearn.utils._typing import LabelRule, RandomState, Table, TaskPath

__all__ = ["KinClassifier"]


class KinClassifier(SetMethods, ExplainMethods, ClassifierMixin, KinBase):
    r"""Share as much as helps, task by task: the classifier to try first.

    Fits models of each task alone, of all tasks pooled, and models that share
    (linear models, support vector machines, extra trees, gradient boosting), and
    combines them with weights that are learned for each task from predictions out of
    fold. Small tasks follow the crowd, large ones their own data.

    Parameters
    ----------
    task : str, int, list of them or None, default=None
        Name or position of the task column; None is one task for all rows. A list is a
        path of columns from coarse to fine, such as ``["region", "clinic"]``: the last
        column holds the tasks, the others known groups of like tasks. A task is its
        whole path. See :ref:`levels`.
    families : "all", or one or some of {"linear", "svm", "trees", "boosting"}
        Where candidates come from; default="all". Boosting takes part from 60 rows on,
        support vector machines below 5,000 (20,000 over the number of classes, if
        that is less and there are more than two).
    effort : {"fast", "standard", "best"}, default="standard"
        How many candidates are tried. "fast" has a mixed model, the multi-task booster
        and both for groups of like tasks, and takes about a third of the time; "best"
        adds forests that do not see the task, MTBoost (classes) and boosters of large
        tasks alone, and tries all settings in all folds.
    estimators : dict or None, default=None
        Candidates of one's own, by name: an estimator of scikit-learn's kind, or a
        pair of one and its forms, some of "pooled", "task as feature" and "own"; the
        first two if none are given. They are weighed beside ours, or alone with
        ``families=[]``. They get numbers: categories as codes, dates as days; one that
        takes no missing values gets features of mean 0 and variance 1, categories as
        indicators.
    n_estimators : int, default=200
        Trees of each forest.
    n_folds : int, default=5
        Folds of rows, in which every task has its part, and of tasks.
    time_limit : float or None, default=None
        Seconds for the whole fit. First searches are cut, those of the forests' pilots
        too, then candidates are dropped, judged by their first fold. The first,
        pooled and linear, never is, so there is always a result. The limit may be
        passed by one fit. With it the model depends on the speed of the machine.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict with the weights that are best
        for tasks that no model has seen; "warn" names them in a warning, "share" does
        not, "error" refuses them and takes less time to fit, by a fifth to a third.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get: its own and those of all tasks that it has one in
        common with, from task to task; its own alone; or those that a mapping from
        tasks to classes gives it. See :ref:`label-sets`.
    scoring : str, callable or None, default=None
        What `seen_score_`, `unseen_score_` and `unseen_task_scores_` are: a scorer of
        scikit-learn's, such as "roc_auc"; None is accuracy.
    n_jobs : int, default=None
        Fits at the same time, in threads; None is 1. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Decides the folds and the models.

    Attributes
    ----------
    sharing_ : dict
        For each task the parts of its prediction that come from "own", "pooled" and
        "shared" models, and from those of each level above the task, by its name; they
        sum to 1.
    weights_ : ndarray of shape (n_tasks, n_candidates)
        Weight of each candidate, by task.
    crowd_weights_, unseen_weights_ : ndarray of shape (n_candidates,)
        What the tasks' weights are drawn to; weights for tasks not seen in fit, of
        known groups if `task` is a path.
    scale_shares_ : dict
        How far tasks depart from the crowd: how common each standard deviation of the
        weights is.
    candidates_, roles_ : ndarray of shape (n_candidates,)
        Names of the candidates; "own", "pooled", "shared" or the name of a level.
    models_ : list of estimators
        The candidates, fitted to all rows; None for those without weight.
    settings_ : dict
        Settings of each candidate that did best out of fold.
    dropped_ : dict
        Candidates that were left out, with the reason: the time limit, a sparse X, or,
        from 500 rows on, no weight after two folds.
    seconds_ : dict
        Seconds of each candidate's ``"folds"``, and of a fit to all ``"rows"``.
    refit_seconds_ : float
        What the last step, the fits to all rows, was expected to take, summed over
        candidates. Callbacks can read it when the step begins.
    seen_score_, seen_log_loss_ : float
        Accuracy, or the metric of `scoring`, and log loss, on rows that neither
        models nor weights nor settings have seen.
    unseen_score_, unseen_log_loss_ : float or None
        The same on tasks that neither models nor weights have seen.
    unseen_task_scores_ : dict
        The score of each of these tasks; NaN where the metric is undefined, or the
        task's rows have no weight.
    unseen_level_scores_ : dict
        The score by what is new, from the coarsest column of a path to the task's:
        for a new region, and for a new clinic of known regions, which is
        `unseen_score_`. None where there is nothing to leave out.
    temperature_, unseen_temperature_ : float
        Power that the probabilities are raised to; above 1 makes them surer.
    task_groups_ : dict or None
        Number of each task's group of like tasks, whose slopes do not differ clearly.
        None for a sparse X, a single class, and too many tasks or features to look.
    task_affinity_ : ndarray of shape (n_tasks, n_tasks)
        How often the multi-task forest's splits keep two tasks together.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit. If `task` is a path and two groups have a task of the
        same name, texts such as ``"A / 3"``.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels.
    task_classes_ : dict
        Labels of each task.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    KinRegressor : The same for numbers.
    kinlearn.audit.compare_sharing : Find out whether tasks should share at all.
    kinlearn.report.SharingDisplay : A picture of `sharing_`.

    Notes
    -----
    Task t predicts :math:`\sum_k w_{tk} f_k(x)`, with convex weights from a
    hierarchical model (stacking [1]_, by empirical Bayes):

    .. math::

        w_0 \sim N(\mathbf 1 / K, \tau_0^2 I), \qquad
        w_t \mid \tau_t \sim N(w_0, \tau_t^2 I), \qquad
        p(y_i \mid w_t) = \sum_k w_{tk} \, p_k(y_i \mid x_i) ,

    where :math:`p_k(y_i \mid x_i)` is the prediction of candidate k, not fitted to
    the row. The scales :math:`\tau` are 0, 0.03, 0.1, 0.3 or 1; how common
    each is among the tasks is learned by EM from their marginal likelihoods
    (Laplace's approximation), and a task's weights are the mean of its modes over
    its posterior of the scales. In :math:`w_0` a task larger than the median one
    counts as the geometric mean of both. In :math:`w_t` the rows of a task with r rows
    that are not of its largest class count r / (r + 2) of their weights. Weights below
    0.01 are dropped.

    Where tasks are of several kinds, linear models, extra trees and gradient boosting
    also have one model for each group of like tasks (`task_groups_`; in folds, groups
    come from their training rows). Groups begin as single tasks and are merged while
    that gains evidence, the marginal likelihood of Bayesian linear regressions with a
    level for each task.

    Candidates with settings to choose (penalties, leaves, iterations) take those of
    the least log loss out of fold; those that predict the rows of a fold are chosen
    without these rows. The multi-task forest chooses its settings once, with all rows.
    Which rows are held out together depends on their values, not on their order.
    Rows that are equal in X and task are held out together if they are copies (their
    targets are alike), and dealt one by one if they meet by chance.

    In the end a booster is the mean of four that differ in their seeds, below 100,000
    rows and if there is time. From there on forests are fitted to that many rows, drawn
    from each task in proportion, and so are pooled and mixed linear models, unless 500
    rows for a feature or 300 for a task are more. Categories are split natively
    by trees and boosters; linear models and machines have indicators of their values,
    or, of more than thirty, mean targets, which are learned from the rows that a model
    is fitted to.

    The probabilities :math:`p_k` of a candidate are calibrated first, by Platt's
    method: they are proportional to :math:`q_{kc}^a e^{b_c}`, where :math:`q_{kc}` is
    its prediction and a power and shifts of the classes come from all rows out of
    fold, under normal priors of :math:`\log a` and :math:`b_c`. Support vector
    machines give :math:`e^f / (e^f + e^{-f})` for a decision value f.

    The accuracy for unseen tasks (`unseen_score_`) leaves out whole tasks, in
    `n_folds` groups, or one by one if there are no more tasks than that; weights for
    these come from the other groups.

    Fitting takes scikit-learn's callbacks: ``set_callbacks(
    sklearn.callback.ProgressBar())`` shows how far it is.

    References
    ----------
    .. [1] Y. Yao, G. Pirš, A. Vehtari, A. Gelman. Bayesian hierarchical stacking: some
       models are (somewhere) useful. Bayesian Analysis, 2022.

    Examples
    --------
    >>> from kinlearn import KinClassifier
    >>> from kinlearn.datasets import load_demo
    >>> X, y = load_demo(as_frame=True, return_X_y=True)
    >>> model = KinClassifier(task="clinic", families=["linear"], random_state=0)
    >>> model = model.fit(X, y)
    >>> model.sharing_["Larch"]["pooled"] < 0.1  # it differs from the others
    True
    """

    _kind = "classification"
    _temperatures_of_groups: list[float] = []  # of those that have levels

    _parameter_constraints: dict = {
        **KinBase._parameter_constraints,
        **TaskMixin._label_parameter_constraints,
    }

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
        label_sets: LabelRule = "connected",
        scoring: str | Callable[..., float] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            task=task,
            families=families,
            effort=effort,
            estimators=estimators,
            n_estimators=n_estimators,
            n_folds=n_folds,
            time_limit=time_limit,
            unknown_task=unknown_task,
            scoring=scoring,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.label_sets = label_sets

    def _correction(
        self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> Calibration:
        return calibration(predictions, y, weight)

    def _calibrate(
        self,
        known: tuple[np.ndarray, np.ndarray, np.ndarray],
        unseen: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
    ) -> None:
        self._temperatures_of_groups: list[float] = []
        self.temperature_ = temperature(*known)
        if unseen is None:
            self.unseen_temperature_, self.unseen_log_loss_ = self.temperature_, None
        else:
            self.unseen_temperature_ = temperature(*unseen)

    def _remember_group_temperature(self, found: Any) -> None:
        power = self.unseen_temperature_
        if found is not None:
            power = temperature(found.mixed, found.y, found.weight)
        self._temperatures_of_groups.append(power)

    def _calibrated_in_turn(
        self,
        predictions: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        fold: np.ndarray,
    ) -> np.ndarray:
        out = np.empty_like(predictions)
        for f in range(int(fold.max()) + 1):
            test, rest = fold == f, fold != f
            power = temperature(predictions[rest], y[rest], weight[rest])
            out[test] = sharpen(predictions[test], power)
        return out

    def _remember_scores(
        self, name: str, predictions: np.ndarray, rows: np.ndarray, scores: Scores
    ) -> None:
        super()._remember_scores(name, predictions, rows, scores)
        setattr(self, f"{name}_log_loss_", scores.log_loss(predictions, rows))

    def predict_proba(self, X: Table) -> np.ndarray:
        """Probabilities of the classes, calibrated on rows out of fold.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``, zero where the task lacks it.
        """
        return self._predict_and_tasks(X)[0]

    def _predict_and_tasks(self, X: Table) -> tuple[np.ndarray, np.ndarray]:
        rows = self._predict_data(X)
        return self._predict_rows(rows.X, rows.task), self._cases(rows.task)

    def _predict_rows(self, X: Any, task: np.ndarray) -> np.ndarray:
        proba, cases = self._mixed(X, task), self._cases(task)
        out = sharpen(proba, self.temperature_)
        powers = [self.unseen_temperature_, *self._temperatures_of_groups]
        for case, power in enumerate(powers):
            new = np.flatnonzero(cases == -1 - case)
            out[new] = sharpen(proba[new], power)
        return out

    def predict(self, X: Table) -> np.ndarray:
        """The likeliest class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels; a task gets only those that it had in fit.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]
