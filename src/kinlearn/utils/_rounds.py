"""Rounds of a fit: what they need of an estimator, its seeds, and callbacks."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.validation import has_fit_parameter

from kinlearn.utils._callbacks import has_listeners
from kinlearn.utils._typing import Table

__all__ = [
    "check_takes_weights",
    "clone_for_round",
    "quiet_round",
    "rounds_with_callbacks",
]


def check_takes_weights(estimator: Any, kind: str | None = None) -> None:
    """Refuse an estimator that cannot be boosted.

    That is one whose `fit` takes no `sample_weight`, or that is of the other `kind`
    ("classifier" or "regressor"); one without a kind is accepted.
    """
    others = {"classifier": is_regressor, "regressor": is_classifier}
    if kind is not None and others[kind](estimator):
        raise ValueError(
            f"{type(estimator).__name__} is no {kind}, and boosting needs one here."
        )
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight, and boosting works by "
            "weights. Choose an estimator whose fit takes them."
        )


def clone_for_round(estimator: Any, rng: np.random.RandomState) -> Any:
    """A copy whose random parts are seeded for the round.

    Each parameter that ends in ``random_state``, also those of estimators inside it,
    gets a seed of its own; `rng` is not used where there is nothing to seed.
    """
    model = clone(estimator)
    names = sorted(n for n in model.get_params() if n.endswith("random_state"))
    return model.set_params(**{name: rng.randint(2**31 - 1) for name in names})


@contextmanager
def rounds_with_callbacks(
    estimator: Any, X: Table, y: Any, n_rounds: int, what: str = "round"
) -> Iterator[Callable[[int], AbstractContextManager[SimpleNamespace]]]:
    """Report a fit to callbacks, and yield what reports its rounds.

    That returns a context manager for a round's number. After the round, ``stop`` of
    what it yields is True if a callback requests that the rounds end. The estimator's
    `fit` is decorated with ``with_callbacks``; `what` names a round, before its number.
    """
    fit = estimator._init_callback_context(max_subtasks=n_rounds)
    fit.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    @contextmanager
    def on_round(number: int) -> Iterator[SimpleNamespace]:
        step = fit.subcontext(task_name=f"{what} {number}")
        step.call_on_fit_task_begin(estimator=estimator)
        request = SimpleNamespace(stop=False)
        yield request
        request.stop = step.call_on_fit_task_end(estimator=estimator)

    yield on_round if has_listeners(fit) else quiet_round
    fit.call_on_fit_task_end(estimator=estimator, X=X, y=y)


def quiet_round(number: int) -> AbstractContextManager[SimpleNamespace]:
    """What `rounds_with_callbacks` yields, for rounds without callbacks."""
    return _QUIET


_QUIET = nullcontext(SimpleNamespace(stop=False))  # nobody sets it
