"""Borrow strength from related data, and know whether it helped.

Data that comes in groups (schools, hospitals, users, machines) is a set of
related *tasks*. The task travels inside X as one of its columns, which
``task=`` names; see :func:`kinlearn.with_task`.

Importing this package does no work: every name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kinlearn.persistence import load, save
    from kinlearn.sharing import KinClassifier, KinRegressor
    from kinlearn.tables import TableEncoder
    from kinlearn.tasks import keep_task, with_task
    from kinlearn.utils import show_versions

_SUBPACKAGES = (
    "audit",
    "boosting",
    "cluster",
    "datasets",
    "exceptions",
    "linear",
    "metrics",
    "model_selection",
    "persistence",
    "relatedness",
    "report",
    "sharing",
    "svm",
    "tables",
    "tasks",
    "testing",
    "transfer",
    "trees",
)
_HOMES = {
    "KinClassifier": "kinlearn.sharing",
    "KinRegressor": "kinlearn.sharing",
    "TableEncoder": "kinlearn.tables",
    "keep_task": "kinlearn.tasks",
    "load": "kinlearn.persistence",
    "save": "kinlearn.persistence",
    "show_versions": "kinlearn.utils",
    "with_task": "kinlearn.tasks",
}

__all__ = [
    "KinClassifier",
    "KinRegressor",
    "TableEncoder",
    "__version__",
    "keep_task",
    "load",
    "save",
    "show_versions",
    "with_task",
]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"kinlearn.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'kinlearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBPACKAGES])
