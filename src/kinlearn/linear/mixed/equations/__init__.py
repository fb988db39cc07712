"""The equations of mixed models of given covariances: blocks, factors, inverses."""

from kinlearn.linear.mixed.equations._factor import Factor, Inverse, Solution
from kinlearn.linear.mixed.equations._pattern import Blocks
from kinlearn.linear.mixed.equations._posterior import Posterior

__all__ = ["Blocks", "Factor", "Inverse", "Posterior", "Solution"]
