"""Scikit-learn's callbacks, which enter here and nowhere else.

They came with scikit-learn 1.9. With an older one every estimator fits as well, only
without callbacks, and setting one raises an error that names the version it needs.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

import sklearn

__all__ = ["CallbackSupportMixin", "set_callbacks", "with_callbacks"]

_NEED = (
    "Callbacks, such as progress bars, need scikit-learn 1.9 or newer; this is "
    f"{sklearn.__version__}. Fitting works without them."
)

_Method = TypeVar("_Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class _NoContext:
        """A fit, or a step of one, without callbacks."""

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

    def with_callbacks(method: Callable) -> Callable:
        """Wrap the method as scikit-learn does, so that it takes as many frames.

        Warnings count them to name the user's line. There are no callbacks to end.
        """

        @wraps(method)
        def method_without_callbacks(estimator: Any, *args: Any, **kwargs: Any) -> Any:
            return method(estimator, *args, **kwargs)

        return method_without_callbacks


if TYPE_CHECKING:  # a decorated `fit` keeps its signature

    def with_callbacks(method: _Method) -> _Method:
        return method


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
