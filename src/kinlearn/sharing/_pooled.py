"""One model for all tasks."""

from kinlearn.sharing._base import OneModel

__all__ = ["Pooled"]


class Pooled(OneModel):
    """One model for all tasks, which does not see the task.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn classifier or regressor.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict with the one model, as for all
        others; "warn" names them in a warning, "share" does not, "error" refuses them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get (classifiers): its own and those of all tasks that
        it has one in common with, from task to task; its own alone; or those that a
        mapping from tasks to classes gives it. See :ref:`label-sets`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels (classifiers).
    task_classes_ : dict
        Labels of each task (classifiers).
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    PerTask : One model for each task.
    TaskAsFeature : One model that sees the task.

    Notes
    -----
    Probabilities of classes that a task may get are the model's own; a tree or a forest
    gives zeros of its own accord, where a leaf holds no row of a class.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from kinlearn.sharing import Pooled
    >>> X = [[0, 1], [1, 1], [0, 2], [1, 2]]
    >>> Pooled(Ridge(alpha=0), task=-1).fit(X, [0, 1, 2, 3]).predict([[0, 1], [0, 2]])
    array([1., 1.])
    """
