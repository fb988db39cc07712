"""Generated tasks, a demonstration, and loaders of real data.

``make_*`` generate the synthetic problems of the founding documents,
``load_demo`` is a small made-up example, ``fetch_*`` read real data from files that the
user has, or fetch them where a public address is known. All return X with the task as
its last column.
"""

from kinlearn.datasets.loaded import (
    DatasetSummary,
    fetch_20newsgroups_tasks,
    fetch_dataset,
    fetch_landmine,
    fetch_mnist,
    fetch_multilevel,
    fetch_nips2003,
    fetch_ocr_letters,
    fetch_reuters21578,
    fetch_school,
    fetch_sentiment,
    fetch_uci,
    fetch_usps,
    fetch_webkb,
    list_datasets,
)
from kinlearn.datasets.made import (
    load_demo,
    make_bayesnet_tasks,
    make_clustered_classification,
    make_clustered_regression,
    make_linear_classification,
    make_linear_regression,
    make_term_tasks,
    make_transfer_pair,
)

__all__ = [
    "DatasetSummary",
    "fetch_20newsgroups_tasks",
    "fetch_dataset",
    "fetch_landmine",
    "fetch_mnist",
    "fetch_multilevel",
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
