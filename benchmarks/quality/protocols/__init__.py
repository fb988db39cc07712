"""The protocols, one file a data set; a new file is imported here."""

from benchmarks.quality.protocols import clustering, landmine, school

__all__ = ["clustering", "landmine", "school"]
from benchmarks.quality.protocols import landmine, school, transfer

__all__ = ["landmine", "school", "transfer"]
