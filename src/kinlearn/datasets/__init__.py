"""Generated tasks, a demonstration, and loaders of real data.

``make_*`` generate the synthetic problems of the founding documents,
``load_demo`` is a small made-up example, ``fetch_*`` read real data from files that the
user has; nothing is downloaded. All return X with the task as its last column.
"""

from kinlearn.datasets._bayesnet_tasks import make_bayesnet_tasks
from kinlearn.datasets._demo import load_demo
from kinlearn.datasets._images import fetch_mnist, fetch_ocr_letters, fetch_usps
from kinlearn.datasets._linear_tasks import (
    make_linear_classification,
    make_linear_regression,
)
from kinlearn.datasets._listing import DatasetSummary, fetch_dataset, list_datasets
from kinlearn.datasets._newsgroups import fetch_20newsgroups_tasks
from kinlearn.datasets._nips2003 import fetch_nips2003
from kinlearn.datasets._planted import (
    make_clustered_classification,
    make_clustered_regression,
)
from kinlearn.datasets._reuters import fetch_reuters21578
from kinlearn.datasets._sentiment import fetch_sentiment
from kinlearn.datasets._tabular import fetch_landmine, fetch_school
from kinlearn.datasets._term_tasks import make_term_tasks
from kinlearn.datasets._transfer_pairs import make_transfer_pair
from kinlearn.datasets._uci import fetch_uci
from kinlearn.datasets._webkb import fetch_webkb

__all__ = [
    "DatasetSummary",
    "fetch_20newsgroups_tasks",
    "fetch_dataset",
    "fetch_landmine",
    "fetch_mnist",
    "fetch_nips2003",
    "fetch_ocr_letters",
    "fetch_reuters21578",
    "fetch_school",
    "fetch_sentiment",
    "fetch_uci",
    "fetch_usps",
    "fetch_webkb",
    "list_datasets",
    "load_demo",
    "make_bayesnet_tasks",
    "make_clustered_classification",
    "make_clustered_regression",
    "make_linear_classification",
    "make_linear_regression",
    "make_term_tasks",
    "make_transfer_pair",
]
