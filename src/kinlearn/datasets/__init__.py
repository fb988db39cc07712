"""Generated tasks and a demonstration.

``make_*`` generate the synthetic problems of the founding documents,
``load_demo`` tells a small story. All return X with the task as its last column.
"""

from kinlearn.datasets._bayesnet_tasks import make_bayesnet_tasks
from kinlearn.datasets._demo import load_demo
from kinlearn.datasets._linear_tasks import (
    make_linear_classification,
    make_linear_regression,
)
from kinlearn.datasets._planted import (
    make_clustered_classification,
    make_clustered_regression,
)
from kinlearn.datasets._term_tasks import make_term_tasks
from kinlearn.datasets._transfer_pairs import make_transfer_pair

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
