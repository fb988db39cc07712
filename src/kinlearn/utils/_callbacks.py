"""Scikit-learn's callbacks, which enter here and nowhere else.

They came with scikit-learn 1.9. With an older one every estimator fits as well, only
without callbacks.
"""

from collections.abc import Callable
from typing import Any, NoReturn, Self

import sklearn

__all__ = ["CallbackSupportMixin", "with_callbacks"]

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
            return False  # no callback requests that the fit end

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """What scikit-learn 1.9 gives an estimator, without its callbacks."""

        @property
        def set_callbacks(self) -> NoReturn:
            """Absent, so that ``hasattr`` is False; the error names what is needed."""
            raise AttributeError(
                "Callbacks, such as progress bars, need scikit-learn 1.9 or newer; "
                f"this is {sklearn.__version__}. Fitting works without them."
            )

        def _init_callback_context(self, **_: Any) -> _NoContext:
            return _NoContext()

    def with_callbacks(method: Callable) -> Callable:
        """Leave the method as it is: there are no callbacks to end."""
        return method
