"""Ctrl-C during a long call, as the tests of all estimators press it."""

import os
import signal
import threading
import time

import pytest

__all__ = ["seconds_to_stop"]


def seconds_to_stop(call, *, after=0.3, attempts=3):
    """Press Ctrl-C and measure how long the call goes on.

    Parameters
    ----------
    call : callable
        Without arguments; it must take far longer than `after`, on a fast machine too.
    after : float, default=0.3
        Seconds until Ctrl-C.
    attempts : int, default=3
        The best of so many, because tests share the machine; it ends with the first
        below a second.

    Returns
    -------
    float
        Seconds from Ctrl-C to the KeyboardInterrupt.
    """
    best = float("inf")
    for _ in range(attempts):
        pressed = []

        def press(pressed=pressed):
            pressed.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(after, press)
        timer.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                call()
        finally:
            timer.cancel()  # a call that ended too early must not hit the next test
            timer.join()
        best = min(best, time.perf_counter() - pressed[0])
        if best < 1:
            break
    return best
