"""Ctrl-C during a long call, as the tests of all estimators press it."""

import gc
import os
import signal
import threading
import time

import pytest

__all__ = ["seconds_to_stop"]

_LAST_RESORT = 20.0  # seconds until a call that goes on is stopped again


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
        best = min(best, _seconds(call, after))
        if best < 1:
            break
    return best


def _seconds(call, after):
    ended = threading.Event()
    pressed = []

    def press():
        for pause in (after, _LAST_RESORT):
            if ended.wait(pause):
                return
            pressed.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

    # Python drops an interrupt that comes while garbage is collected if somebody, as
    # hypothesis does, has a callback for the end of the collection: it is raised there.
    gc.collect()
    gc.disable()
    thread = threading.Thread(target=press)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        ended.set()  # so that a call that ended too early does not hit the next test
        gc.enable()
        thread.join()
    return time.perf_counter() - pressed[0]
