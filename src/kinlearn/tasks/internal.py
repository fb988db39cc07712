"""Names of the data model that other packages need and users do not."""

from kinlearn.tasks._categories import known_codes

__all__ = ["known_codes"]
