"""What some tests need of the versions that are installed, and the reason."""

import importlib.util

import pytest

__all__ = ["HAS_CALLBACKS", "needs_callbacks"]

HAS_CALLBACKS = importlib.util.find_spec("sklearn.callback") is not None

needs_callbacks = pytest.mark.skipif(
    not HAS_CALLBACKS, reason="callbacks: requires scikit-learn 1.9"
)
