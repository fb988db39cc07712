"""The cases, one file an area; a new file is imported here."""

from benchmarks.speed.cases import imports, relatedness, tasks, trees, utils

__all__ = ["imports", "relatedness", "tasks", "trees", "utils"]
