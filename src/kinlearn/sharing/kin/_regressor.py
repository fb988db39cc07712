"""KinRegressor: share as much as helps, task by task, for numbers."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from kinlearn.sharing.conformal import IntervalMethods
from kinlearn.sharing.explain import ExplainMethods
from kinlearn.sharing.kin._base import KinBase
from kinlearn.utils._typing import Table

__all__ = ["KinRegressor"]


class KinRegressor(IntervalMethods, ExplainMethods, RegressorMixin, KinBase):
    r"""Share as much as helps, task by task: the regressor to try first.

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
        support vector machines below 5,000.
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
    scoring : str, callable or None, default=None
        What `seen_score_`, `unseen_score_` and `unseen_task_scores_` are: a scorer of
        scikit-learn's, such as "neg_mean_absolute_error"; None is R^2.
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
    seen_score_ : float
        R^2, or the metric of `scoring`, on rows that neither models nor weights nor
        settings have seen.
    unseen_score_ : float or None
        The same on tasks that neither models nor weights have seen.
    unseen_task_scores_ : dict
        The same by task; NaN where the metric is undefined, as R^2 of one row, or the
        task's rows have no weight.
    unseen_level_scores_ : dict
        The same by what is new, from the coarsest column of a path to the task's: for a
        new region, and for a new clinic of known regions, which is `unseen_score_`.
        None where there is nothing to leave out.
    task_groups_ : dict or None
        Number of each task's group of like tasks, whose slopes do not differ clearly.
        None for a sparse X, a single class, and too many tasks or features to look.
    task_affinity_ : ndarray of shape (n_tasks, n_tasks)
        How often the multi-task forest's splits keep two tasks together.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit. If `task` is a path and two groups have a task of the
        same name, texts such as ``"A / 3"``.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    KinClassifier : The same for classes.
    kinlearn.audit.compare_sharing : Find out whether tasks should share at all.
    kinlearn.report.SharingDisplay : A picture of `sharing_`.

    Notes
    -----
    The weights are those of :class:`KinClassifier`, whose Notes give the model, with
    a normal likelihood:

    .. math::

        y_i \mid w_t \sim N\left(\sum_k w_{tk} f_k(x_i), \sigma_t^2\right),

    where :math:`f_k(x_i)` is the prediction of candidate k, not fitted to the row,
    and :math:`\sigma_t^2` is the mean square that the crowd's combination
    leaves in the task, drawn to that of all rows as by ten rows. So the modes are
    quadratic programs, and the marginal likelihood is exact but for the simplex.

    Fitting takes scikit-learn's callbacks: ``set_callbacks(
    sklearn.callback.ProgressBar())`` shows how far it is.

    Examples
    --------
    >>> from kinlearn import KinRegressor
    >>> from kinlearn.datasets import load_demo
    >>> X, y = load_demo("regression", as_frame=True, return_X_y=True)
    >>> model = KinRegressor(task="clinic", families=["linear"], random_state=0)
    >>> model = model.fit(X, y)
    >>> model.seen_score_ > model.unseen_score_  # a new clinic is harder to predict
    True
    """

    _kind = "regression"

    def _calibrate(
        self,
        known: tuple[np.ndarray, np.ndarray, np.ndarray],
        unseen: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
    ) -> None:
        """Numbers need no calibration."""

    def predict(self, X: Table) -> np.ndarray:
        """The weighted mean of the candidates' predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        return self._combined(X)[0]

    def _predict_rows(self, X: Any, task: np.ndarray) -> np.ndarray:
        return self._mixed(X, task)

    def _predict_and_tasks(self, X: Table) -> tuple[np.ndarray, np.ndarray]:
        return self._combined(X)
