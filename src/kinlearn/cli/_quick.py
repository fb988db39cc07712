"""A quick start, for a process that does one command and ends."""

import gc
import sys

__all__ = ["hurry", "import_skops"]

_state = {"hurried": False}


def hurry() -> None:
    """Note that this process is the command's own.

    Memory is collected less often: most of what is made at the start lives until the
    end.
    """
    _state["hurried"] = True
    gc.set_threshold(100_000, 20, 20)


def import_skops() -> None:
    """Import skops without all of scikit-learn.

    For its list of trusted types skops imports every module of scikit-learn, which
    takes longer than to load a model; ``kinlearn.persistence`` finds out by itself
    which types are estimators of scikit-learn's. In a process of others, skops is left
    as it is.
    """
    if not _state["hurried"] or "skops" in sys.modules:
        return
    import sklearn.utils

    listing = sklearn.utils.all_estimators
    sklearn.utils.all_estimators = list
    try:
        import skops.io  # noqa: F401
    except ImportError:
        pass  # said where it is needed
    finally:
        sklearn.utils.all_estimators = listing
