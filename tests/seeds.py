"""Random problems: some in every run, the others among the slow tests."""

import pytest

__all__ = ["seeds"]


def seeds(quick, *values):
    """Values of ``parametrize``, the first `quick` of ``range(*values)`` not slow."""
    drawn = range(*values)
    later = (pytest.param(seed, marks=pytest.mark.slow) for seed in drawn[quick:])
    return [*drawn[:quick], *later]
