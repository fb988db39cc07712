"""How memory grows: ``python -m tests.endurance.memory N_FITS N_PREDICTIONS``.

It wants ``PYTHONMALLOC=malloc`` and ``MALLOC_ARENA_MAX=1``: then every byte that
Python, NumPy and the kernels hold is counted by the C library; no pool hides a leak.
"""

import ctypes
import gc
import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.endurance.problems import problem_of

__all__ = ["BLOCKS", "growth"]

BLOCKS = 4  # a leak grows in each of them, a cache that fills does not
_NAMES = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"


class _Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in _NAMES.split()]


def _bytes_in_use() -> int:
    gc.collect()
    count = ctypes.CDLL(None).mallinfo2
    count.restype = _Counts
    counts = count()
    return counts.uordblks + counts.hblkhd


def growth(call: Callable[[], Any], n: int) -> float:
    """Bytes that stay behind after a call: the least mean over some blocks of calls."""
    for _ in range(3):  # what is made once: caches, tables of types, pools
        call()
    before, least = _bytes_in_use(), np.inf
    for _ in range(BLOCKS):
        for _ in range(max(n // BLOCKS, 1)):
            call()
        after = _bytes_in_use()
        least = min(least, (after - before) / max(n // BLOCKS, 1))
        before = after
    return float(least)


def main(n_fits: int, n_predictions: int) -> None:
    """Print a line for each estimator: its name, bytes by fit and by prediction."""
    from tests.registry import ESTIMATORS

    warnings.simplefilter("ignore")
    for estimator in ESTIMATORS:
        model, X, y = problem_of(estimator)
        grown = _grown(model, X, y, n_fits, n_predictions)
        sys.stdout.write(json.dumps([type(estimator).__name__, *grown]) + "\n")
        sys.stdout.flush()


def _grown(
    model: Any, X: Any, y: np.ndarray, n_fits: int, n_predictions: int
) -> tuple[float, float]:
    if hasattr(model, "fit_resample"):
        return growth(lambda: model.fit_resample(X, y), n_fits), 0.0
    by_fit = growth(lambda: model.fit(X, y), n_fits)
    names = ("predict_proba", "predict", "transform")
    call = next((getattr(model, m) for m in names if hasattr(model, m)), None)
    return by_fit, growth(lambda: call(X), n_predictions) if call else 0.0


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
