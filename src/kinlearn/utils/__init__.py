"""Small tools that know nothing of tasks."""

from kinlearn.utils._all_or_nothing import AllOrNothing
from kinlearn.utils._files import replacing
from kinlearn.utils._groups import (
    deal_to_folds,
    group_rows,
    mix_bits,
    row_groups,
    row_hashes,
)
from kinlearn.utils._jobs import (
    SentOnce,
    give_memory_back,
    one_by_one,
    stop_requested,
    stop_searches_if,
)
from kinlearn.utils._packages import import_optional, show_versions
from kinlearn.utils._rounds import (
    check_takes_weights,
    clone_for_round,
    quiet_round,
    rounds_with_callbacks,
)
from kinlearn.utils._threads import Threads
from kinlearn.utils._values import as_float32, no_formula, visible

__all__ = [
    "AllOrNothing",
    "SentOnce",
    "Threads",
    "as_float32",
    "check_takes_weights",
    "clone_for_round",
    "deal_to_folds",
    "give_memory_back",
    "group_rows",
    "import_optional",
    "mix_bits",
    "no_formula",
    "one_by_one",
    "quiet_round",
    "replacing",
    "rounds_with_callbacks",
    "row_groups",
    "row_hashes",
    "show_versions",
    "stop_requested",
    "stop_searches_if",
    "visible",
]
