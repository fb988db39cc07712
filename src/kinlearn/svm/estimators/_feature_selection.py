"""Feature selection that goes on learning from what it drops (Cai 2011, chapter 3)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kinlearn.svm.estimators._rankings import (
    cmim_order,
    fisher_scores,
    information_gain,
    one_hot_categories,
)
from kinlearn.svm.estimators._svm_plus_classifier import SVMPlusClassifier
from kinlearn.tables.internal import find_column, open_table
from kinlearn.tasks import (
    TaskData,
    check_task_data,
    check_task_rows,
    remember_columns,
)
from kinlearn.utils import AllOrNothing
from kinlearn.utils._sklearn import HasMethods, Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["PrivilegedFeatureSelectionClassifier"]


def _inner_has(name: str) -> Callable[[Any], bool]:
    def check(self: Any) -> bool:
        getattr(self.estimator or SVMPlusClassifier, name)
        return True

    return check


class PrivilegedFeatureSelectionClassifier(
    AllOrNothing, ClassifierMixin, BaseEstimator
):
    r"""Keep the best features, and learn from the others as privileged columns.

    Features are ranked on the training data. The best ones are the x of an SVM+, and
    the others, which a selection would forget, are its x*: they help to find which
    training rows are hard. Predictions use the selected features alone, so the others
    need not be measured any more.

    Parameters
    ----------
    estimator : estimator, default=None
        What learns: an :class:`SVMPlusClassifier`, or another classifier with the
        parameter `privileged`. None is ``SVMPlusClassifier()``. It has no `group`,
        since every column is ranked as a feature.
    n_features : int or float, default=0.5
        How many features to select, or which fraction of them; those of `keep` count.
    keep : str, int or list of them, default=None
        Names or positions of features that are selected whatever they score, such as
        those that are measured anyway.
    ranking : {"fisher", "information_gain", "cmim"}, default="fisher"
        How features are ranked.

        - "fisher": :math:`(\mu_+ - \mu_-)^2 / (\sigma_+^2 + \sigma_-^2)`; with more
          than two classes, its mean over pairs of them.
        - "information_gain": the mutual information with the class.
        - "cmim": conditional mutual information maximisation: the next feature is the
          one with the most information that none of those before, `keep` first, has.
    n_bins : int, default=8
        For the rankings by information, features of more values than this are cut
        into so many bins of about equal weight.

    Attributes
    ----------
    estimator_ : estimator
        The fitted SVM+.
    selected_ : intp array of shape (n_selected,)
        Positions of the selected features, ascending.
    ranking_ : intp array of shape (n_features,)
        Positions of all features, those of `keep` and then the best one first.
    scores_ : ndarray of shape (n_features,)
        Score of each feature; for "cmim", when it was chosen.
    correcting_values_ : ndarray
        How hard each training row was, by the features that were dropped.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of columns of X in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    SVMPlusClassifier : What learns from privileged columns.

    Notes
    -----
    The ranking is a part of the fit, so that cross-validation ranks on training rows
    alone. Features of different scales should be scaled before.

    References
    ----------
    F. Cai, "Advanced learning approaches based on SVM+ methodology", thesis,
    University of Minnesota, 2011.

    F. Fleuret, "Fast binary feature selection with conditional mutual information",
    JMLR 5, 2004.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from kinlearn.svm import PrivilegedFeatureSelectionClassifier
    >>> X, y = make_classification(n_features=20, shuffle=False, random_state=0)
    >>> model = PrivilegedFeatureSelectionClassifier(n_features=3).fit(X, y)
    >>> model.selected_
    array([1, 2, 3])
    >>> model.predict(X[:2, model.selected_])
    array([0, 0])
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "keep": "no_validation",
        "n_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
        ],
        "ranking": [StrOptions({"fisher", "information_gain", "cmim"})],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_features: int | float = 0.5,
        keep: str | int | Sequence[str] | Sequence[int] | None = None,
        ranking: Literal["fisher", "information_gain", "cmim"] = "fisher",
        n_bins: int = 8,
    ) -> None:
        self.estimator = estimator
        self.n_features = n_features
        self.keep = keep
        self.ranking = ranking
        self.n_bins = n_bins

    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Rank the features, and fit the SVM+.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, in the ranking and in the fit.

        Returns
        -------
        PrivilegedFeatureSelectionClassifier
            The fitted classifier.
        """
        self._validate_params()
        name = type(self).__name__
        if getattr(self.estimator, "group", None) is not None:
            raise ValueError(
                f"{name} ranks every column of X as a feature, but its estimator has "
                f"group={self.estimator.group!r}. Set group=None and drop the column, "
                "or name the privileged columns and fit the estimator alone."
            )
        data = check_task_data(
            X, y, sample_weight, labels="classes", accept_sparse=True, estimator=name
        )
        self.classes_ = data.classes
        self.ranking_, self.scores_ = self._rank(data, self._kept(X))
        n_columns = len(self.ranking_)
        n_selected = self._n_selected(n_columns)
        self.selected_ = np.sort(self.ranking_[:n_selected])
        dropped = np.sort(self.ranking_[n_selected:]).tolist()
        remember_columns(self, replace(data.columns, privileged=tuple(dropped)))
        estimator = clone(self.estimator or SVMPlusClassifier())
        self.estimator_ = estimator.set_params(privileged=dropped or None)
        weights = {}
        if data.sample_weight is not None:
            weights["sample_weight"] = data.sample_weight
        self.estimator_.fit(data.X, data.classes[data.y], **weights)
        return self

    def _kept(self, X: Table) -> list[int]:
        """Positions of the features that are selected in any case."""
        keep = [] if self.keep is None else self.keep
        if isinstance(keep, str | Integral):
            keep = [keep]
        if not isinstance(keep, list | tuple | np.ndarray):
            raise TypeError(
                "keep must be a column name, a position, a list of them or None; got "
                f"{keep!r} of type {type(keep).__name__}."
            )
        table = open_table(X)
        found = [find_column(key, table, "Kept") for key in list(keep)]
        selected = self._n_selected(table.n_columns)
        if len(set(found)) > selected:
            raise ValueError(
                f"keep names {len(set(found))} features, but "
                f"n_features={self.n_features} selects {selected} of "
                f"{table.n_columns}. Raise n_features, or keep fewer."
            )
        return sorted(set(found))

    def _n_selected(self, n_columns: int) -> int:
        if isinstance(self.n_features, Integral):
            if self.n_features > n_columns:
                raise ValueError(
                    f"n_features={self.n_features}, but X has {n_columns} features. "
                    "Set a lower number, or a fraction between 0 and 1."
                )
            return int(self.n_features)
        return max(1, round(self.n_features * n_columns))

    def _rank(self, data: TaskData, kept: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Features, those to be kept and then the best one first, and their scores."""
        weight = data.sample_weight
        weight = np.ones(data.n_samples) if weight is None else weight
        rows = np.flatnonzero(weight)
        X, y, weight = data.X, data.y[rows], weight[rows]
        if len(np.unique(y)) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least two classes; got "
                f"{len(np.unique(y))} class with a weight."
            )
        if len(rows) < data.n_samples:
            X = (X.tocsr() if sp.issparse(X) else X)[rows]
        if self.ranking == "fisher":
            scores = fisher_scores(X, y, weight)
        else:
            hot, feature = one_hot_categories(X, weight, self.n_bins)
            categories = hot, feature, X.shape[1], y, weight
            if self.ranking == "cmim":
                return cmim_order(*categories, self._n_selected(X.shape[1]), kept)
            scores = information_gain(*categories)
        order = np.argsort(-scores, kind="stable")
        return np.concatenate([kept, order[~np.isin(order, kept)]]).astype(int), scores

    @property
    def correcting_values_(self) -> np.ndarray:
        """How hard each training row was, by the features that were dropped."""
        check_is_fitted(self)
        return self.estimator_.correcting_values_

    def get_support(self, indices: bool = False) -> np.ndarray:
        """The selected features, as in scikit-learn's selectors.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return positions instead of a mask.

        Returns
        -------
        ndarray
            A mask of shape (n_features_in_,), or positions.
        """
        check_is_fitted(self)
        if indices:
            return self.selected_
        return np.isin(np.arange(self.n_features_in_), self.selected_)

    def _selected_columns(self, X: Table) -> Any:
        check_is_fitted(self)
        return check_task_rows(
            X,
            columns=self._columns,
            tasks=np.zeros(1, dtype=int),
            accept_sparse=True,
            estimator=type(self).__name__,
        ).X

    def predict(self, X: Table) -> np.ndarray:
        """Labels of new rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with all features, or the selected ones alone.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        X = self._selected_columns(X)
        return self.estimator_.predict(X)

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Table) -> np.ndarray:
        """Values of the decision function.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with all features, or the selected ones alone.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            As of the estimator.
        """
        X = self._selected_columns(X)
        return self.estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
