"""Settings for joblib's backends beyond this machine."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any, Literal, Self

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

__all__ = ["SentOnce", "one_by_one"]


def one_by_one(
    return_as: Literal["generator", "generator_unordered"] = "generator",
) -> Literal["generator", "generator_unordered", "list"]:
    """How joblib's `Parallel` returns results: each when it is there, if it can.

    Parameters
    ----------
    return_as : {"generator", "generator_unordered"}, default="generator"
        The preferred way.

    Returns
    -------
    str
        The same, or "list" for a backend that can do no other, as Ray's.

    Examples
    --------
    >>> from kinlearn.utils import one_by_one
    >>> one_by_one()
    'generator'
    """
    backend, _ = get_active_backend()
    return return_as if backend.supports_return_generator else "list"


class SentOnce:
    """A large argument that many jobs share.

    Joblib's Dask backend puts large arguments onto the cluster once for all jobs, but
    measures them by `sys.getsizeof`: an object that only refers to arrays would go
    with every job. Jobs run where their arguments are (unless idle workers steal them),
    so there should be one for each worker; see `in_turn`.

    Parameters
    ----------
    value : object
        The argument.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __sizeof__(self) -> int:
        return 1 << 20

    @classmethod
    def in_turn(cls, value: Any, n_jobs: int | None) -> Iterator[Self]:
        """The argument for job after job, without end.

        Parameters
        ----------
        value : object
            The argument.
        n_jobs : int or None
            Jobs at a time, as in joblib: as many workers are sent it.

        Returns
        -------
        iterator of SentOnce
            Dask deals them to its workers in turn.

        Examples
        --------
        >>> import sys
        >>> from kinlearn.utils import SentOnce
        >>> first, second, third = (
        ...     one for one, _ in zip(SentOnce.in_turn([], 2), range(3))
        ... )
        >>> first is third, first is second, sys.getsizeof(first) > 1e3
        (True, False, True)
        """
        return cycle([cls(value) for _ in range(effective_n_jobs(n_jobs))])
