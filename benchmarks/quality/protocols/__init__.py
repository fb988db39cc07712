"""The protocols, one file a data set; a new file is imported here."""

from benchmarks.quality.protocols import landmine, school

__all__ = ["landmine", "school"]
