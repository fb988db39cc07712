"""A run: every contender on every fold, stored as it ends, and resumed."""

from kinlearn.audit.run._cells import (
    Cell,
    Comparison,
    describe,
    identity_of,
    run_cells,
    versions,
)
from kinlearn.audit.run._curve import CurvePlan, plan_curve
from kinlearn.audit.run._store import LevelRecords, MemoryStore, open_store

__all__ = [
    "Cell",
    "Comparison",
    "CurvePlan",
    "LevelRecords",
    "MemoryStore",
    "describe",
    "identity_of",
    "open_store",
    "plan_curve",
    "run_cells",
    "versions",
]
