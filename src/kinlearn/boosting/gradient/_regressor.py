"""Multi-task gradient boosting for numbers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin

from kinlearn.boosting.gradient._base import GradientBoostingBase, Validation
from kinlearn.boosting.gradient._bins import Binned
from kinlearn.boosting.gradient._constraints import FeatureColumns
from kinlearn.boosting.gradient._losses import REGRESSION, one_score
from kinlearn.tasks import check_total_weight
from kinlearn.utils._callbacks import with_callbacks
from kinlearn.utils._sklearn import Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, RandomState, Table, TaskColumn

__all__ = ["MultiTaskGradientBoostingRegressor"]


class MultiTaskGradientBoostingRegressor(RegressorMixin, GradientBoostingBase):
    r"""Gradient boosting over histograms, with splits by tasks and values of tasks.

    All tasks share the trees. A node is split by a feature, or by tasks: these are put
    in the order of their gradients, shrunken towards that of the node, and cut at the
    best place. A leaf has a value, and each task in it departs from that by as much as
    its rows prove; so do the intercepts of the tasks, which scores begin with. How much
    departures are shrunken is learned by empirical Bayes in every node and tree. The
    score of a row x of task t is

    .. math:: F(x, t) = b + a_t + z(x)^\top \beta +
              \eta \sum_m \left(v_m(x, t) + d_m(x, t)\right),

    which is the prediction itself, or for counts and costs its logarithm. Scores begin
    with a line through the features where that promises less error.

    Parameters
    ----------
    loss : str, default="squared_error"
        What is minimised: "squared_error", "absolute_error" or "quantile"; "poisson" is
        for counts, "gamma" for costs; their predictions are exponentials of the scores.
    quantile : float, default=0.5
        Which quantile, for its loss.
    offset : str, int or None, default=None
        Name or position of a column of X that is added to the scores, and is no
        feature: with "poisson" and "gamma", the logarithm of an exposure.
    task : str, int or None, default=None
        Name or position of the task column; None is one task, and plain boosting.
    n_estimators : int, default=200
        Number of rounds.
    learning_rate : float, default=0.05
        What the values of a tree are multiplied by, at most 1.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Leaves of a tree, at most; None is no limit but `max_depth` and
        `min_samples_leaf`. "auto" is 12, and 6 for losses other than the squared error
        with less than 10,000 rows.
    max_depth : int or None, default=None
        Depth of a tree, at most; None is no limit.
    min_samples_leaf : int, default=10
        Rows in a leaf, at least. A row of a whole weight counts as so many rows; where
        weights are no whole numbers, each row is one.
    l2_regularization : float, default=3.0
        Penalty on the values of leaves, in rows of mean weight.
    max_features : float, default=0.3
        Fraction of the features that is drawn for each node, rounded up. The task is
        looked at in every node.
    subsample : float, default=1.0
        Fraction of the rows that is drawn for each round.
    max_bins : int, default=64
        Bins of a feature, at most 255; missing values have one more.
    task_splits : bool, default=True
        Whether a node may be split by tasks.
    task_values : bool, default=True
        Whether tasks have intercepts, and values of their own in leaves.
    linear_part : bool or "auto", default="auto"
        Whether scores begin with a line through the features (penalised regression by
        the same loss, with slopes that all tasks have in common), and trees boost what
        it leaves. "auto": where generalised cross-validation promises less error, and
        rows times features times features are at most some 130 million; see
        :doc:`/models/gradient-boosting`.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Columns that hold categories: names, positions or a mask of the columns of X, in
        arrays with codes from 0 to 253. "from_dtype" finds text and categories in data
        frames.
    monotonic_cst : array-like of int, mapping or None, default=None
        1 for columns with which scores must not fall, -1 for those with which they must
        not rise, 0 for others: for every column of X (the task included), or a
        mapping from names or positions.
    interaction_cst : str, sequence of groups or None, default=None
        Groups of columns that may act together in a branch of a tree; columns in no
        group are one more. "pairwise" is all pairs, "no_interactions" every column by
        itself. The task may act with all of them.
    early_stopping : bool, default=False
        Whether to stop when the loss of rows that do not train gets no better, and to
        keep the rounds up to the best: rows held back, or `X_val` of :meth:`fit`.
    validation_fraction : float, default=0.1
        Fraction of the rows of each task that is held back.
    n_iter_no_change : int, default=10
        Rounds without a better loss after which to stop.
    warm_start : bool, default=False
        Whether to go on with the trees that are there, up to `n_estimators` rounds,
        where the data have the same tasks and features.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict by the trees without intercept
        and values of a task, at splits by tasks on the side of more rows; "warn" names
        them in a warning, "share" does not, "error" refuses them.
    random_state : int, RandomState instance or None, default=None
        Decides the features and rows that are drawn, and the rows held back.
    n_jobs : int or None, default=None
        Threads of fits with 20,000 rows or more, and of predictions; they do not change
        the model.

    Attributes
    ----------
    n_estimators_ : int
        Rounds that are kept.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Fraction of each column in the gain; of the task column, that of task splits.
    task_importance_ : float
        Fraction of the gain that task splits account for.
    task_affinity_ : ndarray of shape (n_tasks, n_tasks)
        How often task splits send two tasks to the same side, by gain.
    task_intercepts_ : ndarray of shape (n_tasks,)
        What each task adds to the scores from the start.
    linear_part_ : bool
        Whether scores begin with a line.
    validation_losses_ : ndarray of shape (n_rounds,)
        Mean loss of the rows that do not train after each round; with
        `early_stopping` only.
    trees_ : Trees
        The trees.
    bins_ : FeatureBins
        The bins of the features.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    feature_names_ : ndarray of shape (n_features,)
        Names of the features, without the task.
    is_categorical_ : bool array of shape (n_features,), or None
        Which features are categories; None if none is.
    table_encoder_ : TableEncoder or None
        What made numbers of a table that holds more than numbers.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    MultiTaskGradientBoostingClassifier : The same for classes.
    kinlearn.report.TaskAffinityDisplay : The affinities as a picture.

    Notes
    -----
    The page :doc:`/models/gradient-boosting` has the method with its formulas, and how
    the defaults were chosen. Sums over rows are exact, so neither the number of threads
    nor the order of the rows changes the model, by a single bit; but the order decides
    which rows `subsample` and `early_stopping` draw.

    References
    ----------
    J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals
    of Statistics 29, 2001.

    G. Ke et al., "LightGBM: a highly efficient gradient boosting decision tree",
    NeurIPS 2017.

    R. DerSimonian, N. Laird, "Meta-analysis in clinical trials", Controlled Clinical
    Trials 7, 1986: the moments by which penalties are learned.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.boosting import MultiTaskGradientBoostingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(600, 3)), np.arange(600) % 3
    >>> y = np.sin(2 * X[:, 0]) + 10 * task
    >>> model = MultiTaskGradientBoostingRegressor(task=-1, random_state=0)
    >>> model = model.fit(np.c_[X, task], y)
    >>> model.predict([[0.0, 0.0, 0.0, 2]]).round()
    array([20.])
    """

    _parameter_constraints: dict = {
        **GradientBoostingBase._parameter_constraints,
        "loss": [StrOptions(set(REGRESSION))],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "offset": [str, Integral, None],
        "max_leaf_nodes": [
            *GradientBoostingBase._parameter_constraints["max_leaf_nodes"],
            StrOptions({"auto"}),
        ],
    }

    def __init__(
        self,
        loss: Literal[
            "squared_error", "absolute_error", "quantile", "poisson", "gamma"
        ] = "squared_error",
        *,
        quantile: float = 0.5,
        offset: str | int | None = None,
        task: TaskColumn = None,
        n_estimators: int = 200,
        learning_rate: float = 0.05,
        max_leaf_nodes: int | Literal["auto"] | None = "auto",
        max_depth: int | None = None,
        min_samples_leaf: int = 10,
        l2_regularization: float = 3.0,
        max_features: float = 0.3,
        subsample: float = 1.0,
        max_bins: int = 64,
        task_splits: bool = True,
        task_values: bool = True,
        linear_part: bool | Literal["auto"] = "auto",
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        monotonic_cst: ArrayLike | Mapping[Any, int] | None = None,
        interaction_cst: Sequence[Any]
        | Literal["pairwise", "no_interactions"]
        | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.quantile = quantile
        self.offset = offset
        self.task = task
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.subsample = subsample
        self.max_bins = max_bins
        self.task_splits = task_splits
        self.task_values = task_values
        self.linear_part = linear_part
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.unknown_task = unknown_task
        self.random_state = random_state
        self.n_jobs = n_jobs

    @with_callbacks
    def fit(
        self,
        X: Table,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Table | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Boost all tasks together.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column; NaN is a missing value. Of sparse rows, what is
            not stored is 0; X may have some four billion cells, stored or not.
        y : array-like of shape (n_samples,)
            Numbers; at least 0 for counts, above 0 for costs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of 2 is the same as two rows, 0 is absence.
        X_val : array-like or data frame of shape (n_validation, n_columns), \
                default=None
            Rows that do not train, for `early_stopping`; None holds rows back.
        y_val : array-like of shape (n_validation,), default=None
            Their numbers.
        sample_weight_val : array-like of shape (n_validation,), default=None
            Their weights.

        Returns
        -------
        MultiTaskGradientBoostingRegressor
            The fitted regressor.
        """
        self._validate_params()
        self._check_settings()
        goes_on = self.warm_start and hasattr(self, "trees_")
        data = self._fit_data(X, y, sample_weight, labels="numbers", same=goes_on)
        validation = Validation.of(X_val, y_val, sample_weight_val)
        return self._fit_checked(X, y, data, validation, goes_on)

    def _fit_checked(
        self,
        X: Any,
        y: Any,
        data: Any,
        validation: Validation | None = None,
        goes_on: bool = False,
        binned: Binned | None = None,
    ) -> Self:
        REGRESSION[self.loss].check(data.y, type(self).__name__)
        weight = self._given_weight(data)
        check_total_weight(weight)
        if not weight.all():  # rows of weight 0 are absent, whatever their targets
            data = replace(data, y=np.where(weight > 0, data.y, 0.0))
        if not goes_on:
            self._find_scale(data.y)
        self._boost(X, y, data, weight, validation, goes_on, binned)
        return self

    def _check_settings(self) -> None:
        if self.monotonic_cst is not None and REGRESSION[self.loss].by_quantile:
            raise ValueError(
                "monotonic_cst has no effect on quantiles in leaves, so "
                f"loss={self.loss!r} does not go with it. Take loss='squared_error', "
                "or no constraints."
            )

    def partial_fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows, of known or new tasks, by further rounds.

        The first call is a fit. In later ones new tasks are added as by
        :meth:`add_task`. Then rounds are added for the rows of known tasks, which begin
        with the scores that they have: as many, up to `n_estimators`, as predict rows
        best that are left out of them in turn, and none if they do not help. They add
        nothing for tasks without rows, and for unknown ones only if every task has
        rows. Old rows are not kept; new rounds may undo a little of what was learned
        from them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of 2 is the same as two rows, 0 is absence.

        Returns
        -------
        MultiTaskGradientBoostingRegressor
            The regressor.
        """
        if hasattr(self, "trees_"):
            return self._add_later(self._later_data(X, y, sample_weight))
        return self.fit(X, y, sample_weight)

    @property
    def _score_unit(self) -> float:
        return self._scale

    def _kept_settings(self) -> dict[str, Any]:
        own = {"loss": self.loss, "quantile": self.quantile, "offset": self.offset}
        return {**super()._kept_settings(), **own}

    def _check_targets(self, y: np.ndarray) -> None:
        name = type(self).__name__
        REGRESSION[self.loss].check_later(y, name, self._scale)

    def _target_check(self) -> Callable[[np.ndarray], None]:
        """Refuses targets; can be pickled."""
        return partial(REGRESSION[self.loss].check, name=type(self).__name__)

    def _offset_check(self) -> Callable[[np.ndarray], None]:
        """Refuses offsets; can be pickled."""
        kind, name = REGRESSION[self.loss], f"loss={self.loss!r}"
        return partial(kind.check_offset, scale=self._scale, name=name)

    def _find_scale(self, y: np.ndarray) -> None:
        self._scale: float = REGRESSION[self.loss].find_scale(y)

    def _loss_maker(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Any]:
        quantile = self.quantile if self.loss == "quantile" else 0.5
        kind = REGRESSION[self.loss]
        return partial(one_score, kind, quantile=quantile, scale=self._scale)

    # ---------------------------------------------------------------- offset

    def _find_offset(self, columns: np.ndarray, categorical: np.ndarray) -> int | None:
        if self.offset is None:
            return None
        every = FeatureColumns(self._columns, columns, categorical)
        found = every.features(every.position(self.offset, "offset"), "offset")
        if len(found) > 1 or categorical[found].any():
            raise ValueError(
                f"offset={self.offset!r} is a column of "
                f"{'categories' if len(found) == 1 else 'several features'}; it must "
                "hold numbers."
            )
        if len(columns) == 1:
            raise ValueError("X has no feature beside the task and the offset.")
        return int(found[0])

    def _offset(self, X: Any) -> np.ndarray | None:
        if self._offset_place is None:
            return None
        place = [self._offset_place]
        column = X.tocsc()[:, place].toarray() if sp.issparse(X) else X[:, place]
        offset = column.ravel().astype(np.float64)
        if np.isnan(offset).any():
            raise ValueError(
                f"The offset is missing in {np.isnan(offset).sum()} of {len(offset)} "
                "rows; it must be there in all."
            )
        self._offset_check()(offset)
        return offset / self._scale

    # ------------------------------------------------------------ prediction

    def _numbers(self, scores: np.ndarray) -> np.ndarray:
        return REGRESSION[self.loss].predictions(scores[:, 0], self._scale)

    def predict(self, X: Table) -> np.ndarray:
        """Numbers: means, medians or quantiles, as the loss has it.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers.
        """
        return self._numbers(self._scores(X)[1])

    def staged_predict(self, X: Table) -> Iterator[np.ndarray]:
        """The same after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples,)
            Numbers.
        """
        for _, scores in self._staged_scores(X):
            yield self._numbers(scores)
