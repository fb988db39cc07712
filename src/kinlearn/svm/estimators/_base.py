"""What all support vector machines declare, check and do in their fits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from kinlearn.exceptions import FeatureScaleWarning, KinlearnWarning
from kinlearn.svm._analytic import analytic_C, analytic_epsilon
from kinlearn.svm._kernel import KERNELS
from kinlearn.svm._problem import (
    Problem,
    Solution,
    class_pairs,
    classification,
    signs_of_pair,
)
from kinlearn.tasks import TaskData, class_weights
from kinlearn.tasks.internal import LARGEST
from kinlearn.utils import rounds_with_callbacks
from kinlearn.utils._callbacks import CallbackSupportMixin
from kinlearn.utils._sklearn import Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, Table, TaskColumn
from kinlearn.utils._values import warn_caller

__all__ = [
    "SVMMixin",
    "check_symmetric",
    "coefficients",
    "indexable",
    "warn_if_unfinished",
    "warn_of_scales",
]

_SCALE_RATIO = 1e4
_LONG_TIME = 60.0  # seconds of a fit that are worth a warning
_ASYMMETRY = 1e-5  # of the greatest cell; rounding in single precision is less
_ROWS = 256  # that are compared with columns at a time
_POSITIVE = Interval(Real, 0, None, closed="neither")
# Beyond, products of penalties, weights and kernels would be 0 or infinite.
_MODERATE = Interval(Real, 1e-100, 1e100, closed="both")
_SHIFT = Interval(Real, -1e100, 1e100, closed="both")
_NOT_NEGATIVE = Interval(Integral, 0, None, closed="left")
_GAMMA = [
    Interval(Real, 0, 1e100, closed="both"),
    StrOptions({"scale", "auto", "median"}),
]


class SVMMixin(CallbackSupportMixin):
    """Parameters that all machines have, their problems, and the loop over these."""

    _parameter_constraints: dict = {
        "C": [_MODERATE],
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": _GAMMA,
        "degree": [_NOT_NEGATIVE],
        "coef0": [_SHIFT],
        "correction_kernel": [StrOptions(set(KERNELS)), callable, Mapping, None],
        "correction_gamma": [*_GAMMA, Mapping, None],
        "correction_degree": [_NOT_NEGATIVE, None],
        "correction_coef0": [_SHIFT, None],
        "correction_penalty": [Interval(Real, 1e-100, None, closed="left")],
        "tol": [_POSITIVE],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "cache_size": [_POSITIVE],
        "warm_start": ["boolean"],
    }
    _largest = LARGEST  # kernels are of products
    _class_constraints: dict = {
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "multi_class": [StrOptions({"ovo", "ovr"})],
    }
    _number_constraints: dict = {
        "C": [_MODERATE, StrOptions({"analytic"})],
        "epsilon": [Interval(Real, 0, None, closed="left"), StrOptions({"analytic"})],
    }

    # Seconds of one processor for each pair of rows, measured on easy problems of 3 to
    # 6 thousand rows in as many tasks; hard problems take several times as long.
    _seconds_by_pair: ClassVar[float]

    @property
    def _correction_kind(self) -> Any:
        """The correcting kernel, or "mixed" where groups have their own."""
        if isinstance(self.correction_kernel, Mapping):
            return "mixed"
        return self.kernel if self.correction_kernel is None else self.correction_kernel

    def _warn_of_long_time(self, problems: Sequence[Problem]) -> None:
        """Say before it begins that a fit will take minutes or hours."""
        pairs = sum(float(len(problem.rows)) ** 2 for problem in problems)
        seconds = self._seconds_by_pair * pairs
        linear = self.kernel == "linear"  # its solver's time grows with the rows
        if seconds < _LONG_TIME or self.max_iter >= 0 or linear:
            return
        rows = max(len(problem.rows) for problem in problems)
        hours = f"{seconds / 3600:.0f} hours" if seconds > 7200 else ""
        warn_caller(
            f"{type(self).__name__} begins to fit {rows:,} rows ({len(problems)} "
            "machines). Its time grows with the square of the rows: expect at least "
            f"{hours or f'{seconds / 60:.0f} minutes'} on one processor. Fit to fewer "
            "rows, limit it by max_iter, or take a method whose time grows with the "
            "rows: kinlearn.linear, .trees or .boosting.",
            KinlearnWarning,
        )

    def _weigh_classes(self, data: TaskData) -> TaskData:
        """The same with weights of rows times those of their classes.

        From here on the two are one: costs and rules such as gamma="scale" go by both.
        """
        if self.class_weight is None:
            return data
        by_class = class_weights(self.class_weight, data.classes[data.y])
        weight = self._row_weights(data) * by_class
        return replace(data, sample_weight=weight)

    def _row_weights(self, data: TaskData) -> np.ndarray:
        if data.sample_weight is None:
            return np.ones(data.n_samples)
        return data.sample_weight

    def _class_problems(
        self, y: np.ndarray, n_classes: int, cost: np.ndarray, group: np.ndarray
    ) -> list[Problem]:
        """A problem for each machine of two classes."""
        n_groups = int(group.max(initial=-1)) + 1
        return [
            classification(group, n_groups, signs_of_pair(y, pair), cost)
            for pair in class_pairs(n_classes, self.multi_class)
        ]

    def _set_cost_and_tube(
        self,
        data: TaskData,
        weight: np.ndarray,
        task: np.ndarray | None,
        features: bool,
    ) -> None:
        """C_ and epsilon_, which may go by the data, if that has features."""
        analytic = self.C == "analytic"
        self.C_ = analytic_C(data.y, weight) if analytic else float(self.C)
        if self.epsilon != "analytic":
            self.epsilon_ = float(self.epsilon)
            return
        if not features:
            raise ValueError(
                'epsilon="analytic" looks for neighbours among the features, and a '
                "precomputed kernel has none. Give epsilon as a number."
            )
        rows = np.flatnonzero(weight > 0)
        task = None if task is None else task[rows]
        self.epsilon_ = analytic_epsilon(indexable(data.X)[rows], data.y[rows], task)

    def _solve_each(
        self,
        X: Table,
        y: ArrayLike,
        problems: Sequence[Problem],
        starts: Sequence[Any],
        solve: Callable[[Problem, Any], Solution],
    ) -> list[Solution]:
        """Solve each problem from where it starts; X and y are for callbacks."""
        self._warn_of_long_time(problems)
        solutions = []
        with rounds_with_callbacks(self, X, y, len(problems), "machine") as on_machine:
            for m, (problem, start) in enumerate(zip(problems, starts, strict=True)):
                with on_machine(m):
                    solutions.append(solve(problem, start))
        self.n_iter_ = np.array([max(s.n_iter, 1) for s in solutions], dtype=int)
        self.dual_objective_ = np.array([s.objective for s in solutions])
        self.violation_ = np.array([s.violation for s in solutions])
        return solutions


def coefficients(
    problems: Sequence[Problem], solutions: Sequence[Solution], n_samples: int
) -> np.ndarray:
    """Coefficients of all rows of the data in each machine; 0 for those left out."""
    beta = np.zeros((len(problems), n_samples))
    for m, (problem, solution) in enumerate(zip(problems, solutions, strict=True)):
        beta[m, problem.rows] += solution.beta
    return beta


def indexable(X: Any) -> Any:
    """The same data with rows that can be taken out."""
    return X.tocsr() if sp.issparse(X) else X


def check_symmetric(K: Any, name: str, estimator: str) -> None:
    """Refuse a precomputed matrix that is no kernel between the training rows.

    Parameters
    ----------
    K : ndarray or sparse matrix of shape (n_samples, n_samples)
        The matrix.
    name : str
        What the message calls it.
    estimator : str
        Name for the message.
    """
    if sp.issparse(K):
        difference = abs(K - K.T).tocoo()
        worst = int(np.argmax(difference.data)) if difference.nnz else 0
        place = (
            (difference.row[worst], difference.col[worst]) if difference.nnz else (0, 0)
        )
        greatest = abs(K).max()
    else:
        place, most, greatest = (0, 0), 0.0, 0.0
        for left in range(0, len(K), _ROWS):
            rows = K[left : left + _ROWS]
            difference = np.abs(rows - K[:, left : left + _ROWS].T)
            i, j = np.unravel_index(np.argmax(difference), difference.shape)
            greatest = max(greatest, np.abs(rows).max())
            if difference[i, j] > most:
                place, most = (left + i, j), difference[i, j]
    one, two = int(place[0]), int(place[1])
    this, that = K[one, two], K[two, one]
    if abs(this - that) > _ASYMMETRY * greatest:
        raise ValueError(
            f"{name} of {estimator} is precomputed, but its matrix is not symmetric: "
            f"rows {one} and {two} have {this:.6g} one way and {that:.6g} the other. "
            "It has a column for each training row, in their order, so cut its columns "
            "together with the rows: scikit-learn's cross-validation does so only for "
            "an X that is one matrix, without features and a task column."
        )


def warn_if_unfinished(
    estimator: Any,
    solutions: Sequence[Solution],
    remedy: str,
) -> None:
    """Warn of the worst solution that did not converge.

    Parameters
    ----------
    estimator : estimator
        What is fitted.
    solutions : list of Solution
        What the solver found.
    remedy : str
        What to do about it; the limit of iterations is added where it was met.
    """
    unfinished = [s for s in solutions if not s.converged]
    if not unfinished:
        return
    worst = max(unfinished, key=lambda s: s.violation)
    why = f"{remedy}, or raise max_iter."
    if worst.stalled:
        why = f"Rounding lets no step get closer. {remedy}, or raise tol."
    warn_caller(
        f"{type(estimator).__name__} stopped after {worst.n_iter} iterations with a "
        f"violation of {worst.violation:.3g} (tol={estimator.tol:g}). {why}",
        ConvergenceWarning,
    )


def warn_of_scales(
    X: Any,
    names: np.ndarray,
    estimator: str,
    task: TaskColumn,
    privileged: Any = None,
) -> None:
    """Warn if features differ so much in scale that the largest decides alone.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Training data.
    names : ndarray of shape (n_features,)
        Names of the columns.
    estimator : str
        Name for the message.
    task : str, int or None
        A column that scaling must leave alone.
    privileged : str, int, list of them or None, default=None
        Columns that scaling must do without in prediction.
    """
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        exact = 1e-7  # squares lose half of the digits
        square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    else:
        mean = X.mean(axis=0, dtype=np.float64)
        spread = X.std(axis=0, dtype=np.float64)
        exact = 1e-14
    # what is left of a constant by rounding is no scale
    rounding = np.maximum(exact * np.abs(mean), 1e-12 * spread.max(initial=0.0))
    varied = np.flatnonzero(spread > rounding)
    if len(varied) < 2:
        return
    least, most = varied[spread[varied].argmin()], varied[spread[varied].argmax()]
    if spread[most] <= _SCALE_RATIO * spread[least]:
        return
    scaler = "StandardScaler()"
    kept = {"task": task, "privileged": privileged}
    options = [f"{key}={value!r}" for key, value in kept.items() if value is not None]
    if options:
        scaler = f"kinlearn.keep_task({scaler}, {', '.join(options)})"
    warn_caller(
        f"The features of {estimator} differ in scale by "
        f"{spread[most] / spread[least]:.0e}: column {names[most]!r} has standard "
        f"deviation {spread[most]:.3g}, column {names[least]!r} {spread[least]:.3g}. "
        f"The larger ones decide alone. Scale them first, for example with {scaler}.",
        FeatureScaleWarning,
    )
