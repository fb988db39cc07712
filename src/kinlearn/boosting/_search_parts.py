"""A search through all groups of a table, in parts, on one thread or several."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from kinlearn.boosting._sorted_cells import SortedCells

__all__ = ["search_parts"]

# Cells of a part: a tenth of a second or so, after which Ctrl-C is noticed.
_CELLS = 1 << 23
# Fewer cells are not worth a second thread.
_FEW_CELLS = 1 << 16


@contextmanager
def search_parts(
    table: SortedCells, n_threads: int
) -> Iterator[Callable[[Callable[[int, int], Any]], list[Any]]]:
    """What calls a search for stretches of groups that cover the table.

    The stretches do not depend on the number of threads beyond where they end,
    and results come in their order, so who merges them by "the first of the best"
    gets the same for any number.

    Parameters
    ----------
    table : SortedCells
        The table.
    n_threads : int
        Number of threads.

    Yields
    ------
    callable
        ``run(search)`` gives the list of what ``search(first, last)`` gave.
    """
    n_cells = int(table.group_end[-1]) if len(table.group_end) else 0
    if n_cells < _FEW_CELLS:
        n_threads = 1
    ranges = table.ranges(max(n_threads, -(-n_cells // _CELLS)))
    if n_threads == 1:
        yield lambda search: [search(*part) for part in ranges]
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield lambda search: list(pool.map(lambda part: search(*part), ranges))
