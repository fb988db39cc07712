"""Models in files that Python and the command line read alike."""

from kinlearn.persistence._model_file import SavedModel, open_model
from kinlearn.persistence._save import load, save

__all__ = ["SavedModel", "load", "open_model", "save"]
