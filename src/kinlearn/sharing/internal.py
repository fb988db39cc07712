"""What other packages of kinlearn use of this one, and users do not need."""

from kinlearn.sharing._default_models import DEFAULT_MODELS, DefaultModel
from kinlearn.sharing._finest import FinestLevel

__all__ = [
    "DEFAULT_MODELS",
    "DefaultModel",
    "FinestLevel",
]
