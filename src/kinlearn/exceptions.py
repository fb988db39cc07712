"""The warnings that kinlearn gives.

Errors are Python's own: ValueError for values that cannot be used, TypeError
for things of the wrong kind.
"""

__all__ = [
    "FeatureScaleWarning",
    "KinlearnWarning",
    "SingularFitWarning",
    "SuspectColumnWarning",
    "TaskFallbackWarning",
    "UnknownTaskWarning",
    "UnusedColumnWarning",
]


class KinlearnWarning(UserWarning):
    """Base of all warnings of this package, to filter them in one go."""


class FeatureScaleWarning(KinlearnWarning):
    """Features differ so much in scale that some of them count for nothing."""


class SingularFitWarning(KinlearnWarning):
    """Effects of a mixed model have no variance, or are combinations of each other."""


class SuspectColumnWarning(KinlearnWarning):
    """A column is an index, or tells the target more plainly than a feature should."""


class TaskFallbackWarning(KinlearnWarning):
    """A task could not be fitted as requested, and a simpler prediction stands in."""


class UnknownTaskWarning(KinlearnWarning):
    """Rows to predict for, or parameters, are of tasks that fit did not see."""


class UnusedColumnWarning(KinlearnWarning):
    """A column of a table cannot be learned from, and is left out."""
