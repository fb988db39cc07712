"""Scikit-learn's callbacks, which enter here and nowhere else.

They came with scikit-learn 1.9. With an older one every estimator fits as well, only
without callbacks, and setting one raises an error that names the version it needs.

A fit with callbacks is also all or nothing, in the same frame: warnings count frames to
name the user's line.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NoReturn, Self

import sklearn

from kinlearn.utils._all_or_nothing import mark_all_or_nothing, raise_overflow

__all__ = [
    "CallbackSupportMixin",
    "has_listeners",
    "set_callbacks",
    "with_callbacks",
]

_NEED = (
    "Callbacks, such as progress bars, need scikit-learn 1.9 or newer; this is "
    f"{sklearn.__version__}. Fitting works without them."
)

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _sklearn_with_callbacks
except ImportError:

    class _NoContext:
        """A fit, or a step of one, without callbacks."""

        _callbacks = ()

        def subcontext(self, **_: Any) -> Self:
            return self

        def call_on_fit_task_begin(self, **_: Any) -> None:
            pass

        def call_on_fit_task_end(self, **_: Any) -> bool:
            return False  # no callback ends the fit

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """What scikit-learn 1.9 gives an estimator, without its callbacks."""

        @property
        def set_callbacks(self) -> NoReturn:
            """Absent, so that ``hasattr`` is False; the error names what is needed."""
            raise AttributeError(_NEED)

        def _init_callback_context(self, **_: Any) -> _NoContext:
            return _NoContext()

    def _sklearn_with_callbacks(method: Callable) -> Callable:
        return method


@_sklearn_with_callbacks
def _tear_down(estimator: Any) -> None:
    """Do nothing, after which scikit-learn's decorator ends the callbacks of a fit."""


def with_callbacks(method: Callable) -> Any:
    """Run a method with its callbacks, and all of it or nothing.

    It is scikit-learn's decorator, and that of
    :class:`~kinlearn.utils.AllOrNothing`, in one.
    """

    @wraps(method)
    def method_with_callbacks(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(estimator))
        try:
            try:
                return method(estimator, *args, **kwargs)
            finally:
                _tear_down(estimator)
        except BaseException as error:
            estimator.__dict__ = before  # in one step, which nothing interrupts
            raise_overflow(error, estimator, args, kwargs)
            raise

    return mark_all_or_nothing(method_with_callbacks)


def has_listeners(context: Any) -> bool:
    """Whether a fit has callbacks, its own or of a fit around it.

    Where steps take microseconds, those that nobody hears of need not be reported.
    """
    return bool(getattr(context, "_callbacks", True))


def set_callbacks(estimator: Any, callbacks: Sequence[Any]) -> None:
    """Set the callbacks, if any, of an estimator of scikit-learn's own.

    A ValueError if the estimator takes none.
    """
    if not callbacks:
        return
    if not hasattr(estimator, "set_callbacks"):
        without = not hasattr(CallbackSupportMixin(), "set_callbacks")
        raise ValueError(
            _NEED if without else f"{type(estimator).__name__} takes no callbacks."
        )
    estimator.set_callbacks(*callbacks)
