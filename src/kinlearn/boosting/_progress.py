"""Rounds as scikit-learn's callbacks see them."""

from contextlib import contextmanager

__all__ = ["rounds_with_callbacks"]


@contextmanager
def rounds_with_callbacks(estimator, X, y, n_rounds):
    """Tell callbacks about a fit, and give what tells them about a round.

    Parameters
    ----------
    estimator : CallbackSupportMixin
        What is fitted; its `fit` is decorated with ``with_callbacks``.
    X, y : array-like
        As given to `fit`.
    n_rounds : int
        The most rounds there can be.

    Yields
    ------
    callable
        Gives a context manager for a round's number.
    """
    fit = estimator._init_callback_context(max_subtasks=n_rounds)
    fit.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    @contextmanager
    def on_round(number):
        step = fit.subcontext(task_name=f"round {number}")
        step.call_on_fit_task_begin(estimator=estimator)
        yield
        step.call_on_fit_task_end(estimator=estimator)

    yield on_round
    fit.call_on_fit_task_end(estimator=estimator, X=X, y=y)
