"""Generated tasks: problems of the founding papers, and a demonstration."""

from kinlearn.datasets.made._bayesnet import make_bayesnet_tasks
from kinlearn.datasets.made._demo import load_demo
from kinlearn.datasets.made._linear import (
    make_linear_classification,
    make_linear_regression,
)
from kinlearn.datasets.made._planted import (
    make_clustered_classification,
    make_clustered_regression,
)
from kinlearn.datasets.made._terms import make_term_tasks
from kinlearn.datasets.made._transfer import make_transfer_pair

__all__ = [
    "load_demo",
    "make_bayesnet_tasks",
    "make_clustered_classification",
    "make_clustered_regression",
    "make_linear_classification",
    "make_linear_regression",
    "make_term_tasks",
    "make_transfer_pair",
]
