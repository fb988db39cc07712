"""Rows that lie in partitions: the protocol, the engine of this process, tables.

Estimators drive an *engine*, which knows where the partitions are: `LocalPartitions`
here, Dask's in :mod:`kinlearn.dask`. What they do with the rows is in their packages.
"""

from kinlearn._partitions._local import LocalPartitions
from kinlearn._partitions._protocol import Statistics, Weighed, entries
from kinlearn._partitions._tables import (
    Coded,
    Common,
    Partition,
    agree,
    read_partition,
    remember_common,
    summarize,
)

__all__ = [
    "Coded",
    "Common",
    "LocalPartitions",
    "Partition",
    "Statistics",
    "Weighed",
    "agree",
    "entries",
    "read_partition",
    "remember_common",
    "summarize",
]
