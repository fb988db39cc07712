"""A callback that remembers what it heard of a fit, and one that ends it."""

__all__ = ["Recorder", "StopAfter"]


class Recorder:
    """Names of the steps, in the order in which they ended.

    Attributes
    ----------
    seen : list of str
        ``"setup"``, the steps, ``"teardown"``.
    """

    def __init__(self):
        self.seen = []

    def setup(self, estimator, context):
        """The fit is about to begin."""
        self.seen.append("setup")

    def on_fit_task_begin(self, estimator, context, **_):
        """A step begins."""

    def on_fit_task_end(self, estimator, context, **_):
        """A step ended."""
        self.seen.append(context.task_name)

    def teardown(self, estimator, context):
        """The fit is over."""
        self.seen.append("teardown")


class StopAfter(Recorder):
    """Ends a fit after some rounds.

    Parameters
    ----------
    n_rounds : int
        How many.
    """

    def __init__(self, n_rounds):
        super().__init__()
        self.n_rounds = n_rounds

    def on_fit_task_end(self, estimator, context, **_):
        """A step ended; whether to stop."""
        super().on_fit_task_end(estimator, context)
        return context.task_name == f"round {self.n_rounds - 1}"
