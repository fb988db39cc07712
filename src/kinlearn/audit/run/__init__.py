"""A run: every contender on every fold, stored as it ends, and resumed."""

from kinlearn.audit.run._cells import Cell, Comparison, run_cells
from kinlearn.audit.run._curve import CurvePlan, plan_curve
from kinlearn.audit.run._identity import describe, identity_of, versions
from kinlearn.audit.run._store import MemoryStore, open_store

__all__ = [
    "Cell",
    "Comparison",
    "CurvePlan",
    "MemoryStore",
    "describe",
    "identity_of",
    "open_store",
    "plan_curve",
    "run_cells",
    "versions",
]
