"""Small tools that know nothing of tasks."""

from kinlearn.utils._files import replacing
from kinlearn.utils._folds import deal_to_folds
from kinlearn.utils._groups import group_rows
from kinlearn.utils._jobs import SentOnce, one_by_one
from kinlearn.utils._optional import import_optional
from kinlearn.utils._rounds import (
    check_takes_weights,
    clone_for_round,
    quiet_round,
    rounds_with_callbacks,
)
from kinlearn.utils._stop import stop_searches_if, told_to_stop
from kinlearn.utils._versions import show_versions

__all__ = [
    "SentOnce",
    "check_takes_weights",
    "clone_for_round",
    "deal_to_folds",
    "group_rows",
    "import_optional",
    "one_by_one",
    "quiet_round",
    "replacing",
    "rounds_with_callbacks",
    "show_versions",
    "stop_searches_if",
    "told_to_stop",
]
