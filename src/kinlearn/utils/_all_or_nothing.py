"""A fit that does not end leaves the estimator as it was.

Ctrl-C, an error or a callback may end a fit anywhere, between the labels and the model
that predicts them. So every method that changes fitted state is wrapped, once, where
its class is made: what an estimator holds is noted before, and put back unless the
method returns.

Noted is which objects the estimator holds, not what is in them. A fit therefore makes
new objects; it does not write into those of an earlier one.
:func:`kinlearn.testing.task_checks` looks into them.
"""

import inspect
import re
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, ClassVar

from numpy.linalg import LinAlgError

from kinlearn.utils._loading import CheckedWhenLoaded
from kinlearn.utils._values import name_largest

__all__ = [
    "AllOrNothing",
    "is_all_or_nothing",
    "mark_all_or_nothing",
    "raise_overflow",
]

# What SciPy and NumPy say when sums or products of finite numbers were not finite.
_OVERFLOW = re.compile(
    "array must not contain infs or NaNs|SVD did not converge|Singular matrix"
)
_METHODS = (
    "fit",
    "partial_fit",
    "add_task",
    "fit_transform",
    "fit_predict",
    "fit_resample",
)


def mark_all_or_nothing(method: Callable) -> Callable:
    """Mark a method that puts back what it changed unless it returns."""
    # By identity, because whoever wraps it with functools.wraps copies the mark.
    method._all_or_nothing = method  # type: ignore[attr-defined]
    return method


def is_all_or_nothing(method: Any) -> bool:
    """Whether it has the mark."""
    return getattr(method, "_all_or_nothing", None) is method


def raise_overflow(
    error: BaseException, estimator: Any, args: tuple, kwargs: dict[str, Any]
) -> None:
    """Say in our words that numbers were too large, where linear algebra says it."""
    if type(error) in (ValueError, LinAlgError) and _OVERFLOW.search(str(error)):
        X = args[0] if args else kwargs.get("X")
        raise ValueError(
            f"{type(estimator).__name__} met numbers that are too large for it, or of "
            f"too different sizes. {name_largest(X) or 'Scale X, y and the weights.'}"
        ) from error


def _all_or_nothing(method: Callable) -> Callable:
    @wraps(method)
    def whole(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(estimator))
        try:
            return method(estimator, *args, **kwargs)
        except BaseException as error:
            estimator.__dict__ = before  # in one step, which nothing interrupts
            raise_overflow(error, estimator, args, kwargs)
            raise

    return mark_all_or_nothing(whole)


class AllOrNothing(CheckedWhenLoaded):
    """Base of estimators: a fit that does not end leaves them as they were.

    It holds for `fit`, `partial_fit`, `add_task`, `fit_transform`, `fit_predict` and
    `fit_resample` of every class below, those of users too. Not put back is what is
    not the estimator's own: a random generator that was given as `random_state`.

    Examples
    --------
    >>> from kinlearn.utils import AllOrNothing
    >>> class Model(AllOrNothing):
    ...     def fit(self, X):
    ...         self.n_rows_ = len(X)
    ...         self.mean_ = sum(X) / len(X)
    ...         return self
    >>> model = Model().fit([1, 3])
    >>> model.fit([])
    Traceback (most recent call last):
    ...
    ZeroDivisionError: division by zero
    >>> model.n_rows_, model.mean_
    (2, 2.0)
    """

    _names_of_init: ClassVar[tuple[Any, list[str]]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in _METHODS:
            # Of a mixin too, as it need not be a subclass. What scikit-learn's own
            # mixins add calls `fit`.
            method = inspect.getattr_static(cls, name, None)
            if (
                isinstance(method, FunctionType)
                and not is_all_or_nothing(method)
                and not method.__module__.startswith("sklearn.")
            ):
                setattr(cls, name, _all_or_nothing(method))

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Names of the parameters: of each constructor, its signature is read once.

        Clones of an estimator read it three times, which takes longer than all else.
        """
        init, names = vars(cls).get("_names_of_init", (None, []))
        if init is not cls.__init__:
            names = super()._get_param_names()  # type: ignore[misc]
            cls._names_of_init = cls.__init__, names
        return [*names]
