"""Multi-task decision tree, MT-DT (Faddoul 2012, section 4.10)."""

from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kinlearn.trees.decision._base import MultiTaskTreeModel
from kinlearn.trees.decision._model import MultiTaskTree
from kinlearn.utils._typing import ArrayLike, LabelRule, RandomState, Table, TaskColumn

__all__ = ["MultiTaskDecisionTreeClassifier"]


class MultiTaskDecisionTreeClassifier(MultiTaskTreeModel):
    r"""One decision tree for several classification tasks.

    The tasks share the tests at the nodes; each has its own labels and its own
    predictions. A task whose rows at a node are all of one label is decided there,
    even if the node is not a leaf, and its rows leave; the others go on. So a
    test that is found with the rows of one task serves all of them.

    A node takes the test ``feature <= threshold`` with the largest

    .. math::

        IG_{sum} = \sum_j IG(Y_j), \quad
        IG_{max} = \max_j IG(Y_j), \quad \text{or} \quad
        IG_{joint} = IG((j, Y_j)),

    where :math:`IG(Y) = H(Y) - H(Y \mid side)` is the information gain of the
    label, for task j on its own rows at the node, and in the joint form of the
    pair of task and label on all rows.

    Parameters
    ----------
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    criterion : {"max", "sum", "joint"}, default="max"
        How the tasks' information gains decide together.
    purity : float in (0, 1], default=1.0
        A task is decided at a node when one label has at least this fraction
        of its rows there. The thesis uses 0.8 for single trees.
    max_depth : int, default=None
        Largest depth; None is no limit.
    min_samples_split : int, default=2
        Fewest rows, of all undecided tasks together, for a split.
    min_samples_leaf : int, default=1
        Fewest rows, of all undecided tasks together, on each side of a split.
    min_weight_fraction_leaf : float, default=0.0
        The same for the weight, as a fraction of the weight of all rows.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features that a node draws at random to choose from, as a number or a
        fraction; None is all of them. Those that are constant at the node do not
        count.
    shrinkage : float, default=0.0
        How far the label frequencies that decide a task are drawn towards those of its
        rows at the nodes above, see Notes; 0 is not at all.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class; "balanced" gives the classes of a task equal
        weight within the task.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict the average over the known tasks
        of what each predicts for the row; "warn" names them in a warning, "share" does
        not, "error" refuses them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get: its own and those of all tasks that it has one in
        common with, from task to task; its own alone; or those that a mapping from
        tasks to classes gives it. See :ref:`label-sets`.
    categorical_features : "from_dtype", list, mask or None, default="from_dtype"
        Columns whose values are categories, integers from 0 to 253: names, positions,
        or a mask of all columns of X. A node splits the categories of such a column
        many against many. Those not seen in fit are missing values. "from_dtype": the
        columns that a data frame says are categories.
    random_state : int, RandomState instance or None, default=None
        Decides the features drawn; without a draw nothing is random.

    Attributes
    ----------
    tree_ : MultiTaskTree
        The tree as flat arrays.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels.
    task_classes_ : dict
        Labels of each task.
    feature_names_ : ndarray of shape (n_features,)
        Names of the features, without the task.
    feature_importances_ : ndarray of shape (n_features,)
        Fraction of each feature in the information gained within tasks.
    is_categorical_ : bool array of shape (n_features,), or None
        Which features are categories; None if none is.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    MultiTaskRandomForestClassifier : Many such trees on resampled rows.
    kinlearn.trees.export_text : The tree in words.
    kinlearn.trees.plot_tree : The tree as a picture.

    Notes
    -----
    Where this differs from the thesis:

    - It proves that the joint gain is the mean of the tasks' gains, weighted by
      their sizes. That holds only if a split leaves the proportions of the tasks
      as they are. In general the joint gain has a second term, the information
      of the split about the task itself, so it also rewards splits that merely
      separate the tasks. Here it is computed from its definition.
    - Splits that are equal in the criterion are common under "max", where a
      small task can reach its largest gain in many ways. Then the one with the
      larger mean gain, weighted by the tasks' sizes, is taken.
    - Features are sorted into at most 255 bins first, which is exact up to 255
      distinct values. A threshold is the edge in the middle of the bins that
      are empty at the node.
    - Missing values go to the side where they gain most; where a node saw none,
      to the heavier side.
    - Categories are put in the order of their fraction of one label, that which is the
      most frequent at the node, among the rows of tasks that have it there; the best
      cut of this order is taken. For two classes no other way to part them gains more
      (of the tasks together). Those of less than two rows' weight stay together, as
      average. With more than two, the cut must gain more than noise would, and half of
      that is taken off when features are compared. Categories that a node has not seen
      go the way of missing values.

    A task that has no row on one side of a split is decided there by its rows
    in the parent; `predict_proba` gives the label frequencies of the rows that
    decide. To the predictions for a task whose rows do not show all of its classes,
    one row is added, as it were: half of what an unknown task is predicted, half the
    fractions of the classes in all rows.

    With `shrinkage` :math:`\lambda`, what is predicted for a task is not the label
    frequencies f at the node that decides, but the sum, from the root on, of the
    changes of f from node to node, each divided by :math:`1 + \lambda / w`, where w is
    the weight of the task's rows at the upper node (Agarwal et al.). Few rows count
    less, and the trees need not be grown anew.

    References
    ----------
    J. B. Faddoul, "Méthodes d'ensembles pour l'apprentissage multi-tâche, avec
    des tâches hétérogènes et sans restrictions", thesis, Lille, 2012.

    A. Agarwal, Y. S. Tan, O. Ronen, C. Singh, B. Yu, "Hierarchical shrinkage: improving
    the accuracy and interpretability of tree-based methods", ICML, 2022.

    Examples
    --------
    Two tasks with labels of their own, in the last column:

    >>> from kinlearn.trees import MultiTaskDecisionTreeClassifier
    >>> X = [[1, 0], [2, 0], [3, 0], [1, 1], [2, 1], [4, 1]]
    >>> y = ["low", "low", "high", "cold", "cold", "warm"]
    >>> tree = MultiTaskDecisionTreeClassifier(task=-1).fit(X, y)
    >>> tree.predict([[0, 0], [0, 1], [9, 1]])
    array(['low', 'cold', 'warm'], dtype='<U4')
    """

    tree_: MultiTaskTree

    def __init__(
        self,
        *,
        task: TaskColumn = None,
        criterion: Literal["max", "sum", "joint"] = "max",
        purity: float = 1.0,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | Literal["sqrt", "log2"] | None = None,
        shrinkage: float = 0.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.task = task
        self.criterion = criterion
        self.purity = purity
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.shrinkage = shrinkage
        self.class_weight = class_weight
        self.unknown_task = unknown_task
        self.label_sets = label_sets
        self.categorical_features = categorical_features
        self.random_state = random_state

    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Grow the tree.

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
        MultiTaskDecisionTreeClassifier
            The fitted tree.
        """
        self._validate_params()
        data = self._fit_data(X, y, sample_weight, labels="classes")
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        settings = self._growth_settings(data.X.shape[1])
        tree = self._growth_rows(data).tree(settings, seed)
        self._keep([tree], len(data.classes))
        return self

    @property
    def _trees(self) -> list[MultiTaskTree]:
        return [self.tree_]

    @_trees.setter
    def _trees(self, trees: list[MultiTaskTree]) -> None:
        (self.tree_,) = trees

    def apply(self, X: Table) -> np.ndarray:
        """Node at which each row's task is decided.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        int array of shape (n_samples,)
            Node numbers, of inner nodes too; the leaf if the task is unknown.
        """
        return self._nodes(X)[:, 0]

    def decision_path(self, X: Table) -> csr_array:
        """Nodes on each row's way from the root to where its task is decided.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        csr_array of shape (n_samples, n_nodes)
            1 where a row passes a node.
        """
        return self.tree_.paths(self.apply(X))

    def get_depth(self) -> int:
        """Depth of the tree.

        Returns
        -------
        int
            Tests on the longest way from the root to a leaf.
        """
        check_is_fitted(self)
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """Number of leaves.

        Returns
        -------
        int
            Nodes without children; decisions at inner nodes do not count.
        """
        check_is_fitted(self)
        return int(self.tree_.is_leaf.sum())
