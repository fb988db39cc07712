"""Scikit-learn's callbacks, which enter here and nowhere else.

They came with scikit-learn 1.9. With an older one every estimator fits as well; only
nobody hears how far it is, and who asks for it is told why.
"""

from functools import wraps

import sklearn

__all__ = ["CallbackSupportMixin", "set_callbacks", "with_callbacks"]

_NEED = (
    "Callbacks, such as progress bars, need scikit-learn 1.9 or newer; this is "
    f"{sklearn.__version__}. Fitting works without them."
)

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class _NoContext:
        """A fit, or a step of one, that nobody listens to."""

        def subcontext(self, **_):
            return self

        def call_on_fit_task_begin(self, **_):
            pass

        def call_on_fit_task_end(self, **_):
            return False  # nobody wants the fit to end

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """What scikit-learn 1.9 gives an estimator, without its callbacks."""

        @property
        def set_callbacks(self):
            """Absent, so that ``hasattr`` tells; the error says what is needed."""
            raise AttributeError(_NEED)

        def _init_callback_context(self, **_):
            return _NoContext()

    def with_callbacks(method):
        """Wrap the method as scikit-learn does; there are no callbacks to end.

        A warning of the method's counts this call when it names the line of the user.
        """

        @wraps(method)
        def method_without_callbacks(estimator, *args, **kwargs):
            return method(estimator, *args, **kwargs)

        return method_without_callbacks


def set_callbacks(estimator, callbacks):
    """Set the callbacks of an estimator of scikit-learn's own.

    Parameters
    ----------
    estimator : estimator
        What is going to be fitted.
    callbacks : sequence of callbacks
        May be empty.

    Raises
    ------
    ValueError
        If there are some, and the estimator takes none.
    """
    if not callbacks:
        return
    if not hasattr(estimator, "set_callbacks"):
        raise ValueError(_NEED)
    estimator.set_callbacks(*callbacks)
