"""Real data, read from files that the user has."""

from kinlearn.datasets.loaded._catalogue import (
    DatasetSummary,
    fetch_dataset,
    list_datasets,
)
from kinlearn.datasets.loaded._images import fetch_mnist, fetch_ocr_letters, fetch_usps
from kinlearn.datasets.loaded._multilevel import fetch_multilevel
from kinlearn.datasets.loaded._tabular import (
    fetch_landmine,
    fetch_nips2003,
    fetch_school,
)
from kinlearn.datasets.loaded._texts import (
    fetch_20newsgroups_tasks,
    fetch_reuters21578,
    fetch_sentiment,
    fetch_webkb,
)
from kinlearn.datasets.loaded._uci import fetch_uci

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
]
