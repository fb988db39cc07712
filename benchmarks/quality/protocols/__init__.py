"""The protocols, one file a data set; a new file is imported here."""

from benchmarks.quality.protocols import clustering, landmine, school, transfer

__all__ = ["clustering", "landmine", "school", "transfer"]
