"""What the transfer estimators have in common: targets, rows, and who predicts."""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from kinlearn.tables.internal import CODES, encoding_for
from kinlearn.tasks import TaskData, TaskMixin
from kinlearn.transfer._boost import Boosted, Transfer, WeightHistory
from kinlearn.utils import check_takes_weights
from kinlearn.utils._callbacks import CallbackSupportMixin
from kinlearn.utils._sklearn import Interval, StrOptions
from kinlearn.utils._typing import Table

__all__ = ["BoostsEstimator", "TransferBase", "fold_of_target", "rows_of"]


def fold_of_target(
    transfer: Transfer, n_folds: int, rng: np.random.RandomState
) -> np.ndarray:
    """Fold of each row of the target; -1 for the source, which is never left out.

    Each class of the target is dealt evenly.
    """
    fold = np.full(len(transfer.rows), -1)
    rows = rng.permutation(np.flatnonzero(transfer.is_target))
    if transfer.n_classes:
        rows = rows[np.argsort(transfer.y[rows], kind="stable")]
    fold[rows] = np.arange(len(rows)) % n_folds
    return fold


def rows_of(X: Any, transfer: Transfer) -> Any:
    """Features of the rows of a transfer; no copy if they are all."""
    return X if len(transfer.rows) == X.shape[0] else X[transfer.rows]


class BoostsEstimator(TaskMixin, BaseEstimator):
    """What an `estimator` that is boosted, or None, takes as input."""

    def _encoding(self) -> dict[str, Any]:
        return CODES if self.estimator is None else encoding_for(self.estimator)

    def _check_estimator(self, kind: Literal["classifier", "regressor"]) -> None:
        if self.estimator is not None:
            check_takes_weights(self.estimator, kind)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = None if self.estimator is None else get_tags(self.estimator).input_tags
        tags.input_tags.sparse = True if inner is None else inner.sparse
        tags.input_tags.allow_nan = True if inner is None else inner.allow_nan
        return tags


class TransferBase(CallbackSupportMixin, BoostsEstimator):
    """Targets and sources, and the rounds as scikit-learn's callbacks see them."""

    boosts_: dict[object, Boosted]

    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        "target": "no_validation",
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "voters": [StrOptions({"second_half", "all"})],
        "random_state": ["random_state"],
    }

    # --------------------------------------------------------------- fitting

    def _target_codes(self, data: TaskData) -> Sequence[int]:
        """The targets: the one that was named, or every task in turn."""
        return range(data.n_tasks) if data.target is None else [data.target]

    def _transfer(self, data: TaskData, target: int, start: np.ndarray) -> Transfer:
        """The rows of one transfer, those without weight left out."""
        is_target = data.task == target
        rows = start > 0
        if not (rows & is_target).any():
            name = data.tasks.tolist()[target]
            raise ValueError(
                f"The target, task {name!r}, has no row of positive weight. Weight "
                "some of its rows, or choose another target."
            )
        y, n_classes = data.y, 0
        if data.classes is not None:
            # a class that the target cannot have teaches it nothing
            rows &= data.label_sets.allowed(np.array([target]))[0][data.y]
            codes = np.unique(data.y[rows])
            n_classes = len(codes)
            place = np.full(len(data.classes), -1, dtype=np.int32)
            place[codes] = np.arange(n_classes, dtype=np.int32)
            y = place[data.y]
        index = np.flatnonzero(rows)
        return Transfer(
            rows=index.astype(np.int32),
            y=np.ascontiguousarray(y[index]),
            task=data.task[index],
            is_target=is_target[index],
            start=start[index],
            n_tasks=data.n_tasks,
            n_classes=n_classes,
        )

    # ------------------------------------------------------------ predicting

    def _by_target(
        self,
        X: Table,
        predict: Callable[[Any, Any], np.ndarray],
        by_class: bool = False,
    ) -> np.ndarray:
        """Predictions of each row's model, ``predict(target, X)``.

        With one target, its model predicts every row; with several, rows of unknown
        tasks have the mean of all models.
        """
        rows = self._predict_data(X)
        targets = list(self.boosts_)
        if len(targets) == 1:
            return predict(targets[0], rows.X)
        columns = (len(self.classes_),) if by_class else ()
        out = np.zeros((rows.n_samples, *columns))
        for code, target in enumerate(targets):
            index = np.flatnonzero(rows.task == code)
            if len(index):
                out[index] = predict(target, rows.X[index])
        unknown = np.flatnonzero(rows.task < 0)
        if len(unknown):
            some = rows.X[unknown]
            out[unknown] = np.mean([predict(each, some) for each in targets], axis=0)
        return out

    @property
    def source_weight_(self) -> dict[Any, dict[Any, float]]:
        """For each target, the fraction of each source in the last round's weight."""
        check_is_fitted(self)
        names = self.tasks_.tolist()
        return {
            target: {
                name: float(fraction)
                for name, fraction in zip(
                    names, boosted.history.task_share[-1], strict=True
                )
                if name != target
            }
            for target, boosted in self.boosts_.items()
        }

    @property
    def weight_history_(self) -> dict[Any, WeightHistory]:
        """For each target, where the weight was in each round."""
        check_is_fitted(self)
        return {target: boosted.history for target, boosted in self.boosts_.items()}
