"""From seconds to ratios, and from ratios to a verdict."""

import math
import statistics
from dataclasses import dataclass

__all__ = ["Ratio", "Verdict", "fastest_peer", "growth", "ratio", "verdicts"]


@dataclass(frozen=True)
class Ratio:
    """How many times faster than the peer we are.

    Parameters
    ----------
    best : float
        The peer's best time over our best time: the headline, since noise on
        a shared machine only ever adds time.
    median, low, high : float
        Of the ratios of the single rounds: how far to trust the headline.
    """

    best: float
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Verdict:
    """One figure of a limit, and on which side of it ours is.

    Parameters
    ----------
    limit, found : str
        The figure, and what was measured.
    side : {"within", "above", "below"}
        Above a limit that is the most, or below one that is the least.
    """

    limit: str
    found: str
    side: str


def ratio(ours, peer):
    """Ratio of two lists of seconds, entry i of both being of one round."""
    rounds = [p / o for o, p in zip(ours, peer, strict=True)]
    return Ratio(
        best=min(peer) / min(ours),
        median=statistics.median(rounds),
        low=min(rounds),
        high=max(rounds),
    )


def fastest_peer(seconds):
    """Name of the peer with the best time, None if there is none."""
    peers = [who for who in seconds if who != "ours"]
    return min(peers, key=lambda who: min(seconds[who]), default=None)


def growth(seconds_by_size):
    """Exponent b of time ~ size ** b, by least squares on the best times."""
    x = [math.log(size) for size in seconds_by_size]
    y = [math.log(min(seconds)) for seconds in seconds_by_size.values()]
    return statistics.linear_regression(x, y).slope


def verdicts(limit, *, seconds=None, peak_bytes=None, data_bytes=None, exponent=None):
    """Compare what was measured with a limit.

    Parameters
    ----------
    limit : Limit
        What must hold.
    seconds : dict of str to list of float, optional
        By contender, as `time_in_rounds` gives them.
    peak_bytes, data_bytes : int, optional
        Our peak memory and the size of the data.
    exponent : float, optional
        From `growth`.

    Returns
    -------
    list of Verdict
        One for each figure of the limit that the measurements speak about.
    """
    found = []
    if seconds is not None:
        best = min(seconds["ours"])
        peer = fastest_peer(seconds)
        if limit.seconds is not None:
            found.append(_at_most(limit.seconds, best, "{:.3g} s"))
        if peer is not None and limit.times_faster is not None:
            faster = min(seconds[peer]) / best
            text = f"{faster:.3g} x its speed"
            side = "within" if faster >= limit.times_faster else "below"
            found.append(
                Verdict(f"at least {limit.times_faster:g} x its speed", text, side)
            )
        if peer is not None and limit.times_as_long is not None:
            longer = best / min(seconds[peer])
            found.append(_at_most(limit.times_as_long, longer, "{:.3g} x its time"))
    if limit.memory_of_data is not None and peak_bytes is not None and data_bytes:
        found.append(
            _at_most(limit.memory_of_data, peak_bytes / data_bytes, "{:.3g} x the data")
        )
    if limit.gibibytes is not None and peak_bytes is not None:
        found.append(_at_most(limit.gibibytes, peak_bytes / 2**30, "{:.3g} GiB"))
    if limit.growth is not None and exponent is not None:
        found.append(_at_most(limit.growth, exponent, "n^{:.3g}"))
    return found


def _at_most(limit, value, form):
    side = "within" if value <= limit else "above"
    return Verdict(f"at most {form.format(limit)}", form.format(value), side)
