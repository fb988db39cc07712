"""A progress bar of a long command."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from kinlearn.cli._console import Voice
from kinlearn.cli._errors import one_line

__all__ = ["Steps", "progress_on"]

_MEMORY = 600  # seconds that the time left is estimated from: steps may take minutes


@contextmanager
def progress_on(voice: Voice, label: str = "comparing") -> Iterator["_Advance"]:
    """A progress bar with the time left, if the stream is a terminal."""
    seen = voice.err.is_terminal and not voice.quiet
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("time left"),
        TimeRemainingColumn(),
        console=voice.err,
        transient=True,
        speed_estimate_period=_MEMORY,
        disable=not seen,
    )
    # rich before 14.3 ends also a bar that it does not show with an empty line
    with bar if seen else nullcontext():
        yield _Advance(bar, voice, label)


class _Advance:
    """Moves a bar."""

    def __init__(self, bar: Progress, voice: Voice, label: str) -> None:
        self._bar, self._voice = bar, voice
        self._line = bar.add_task(label, total=None)
        self._done = 0

    def __call__(self, done: int, total: int | None, label: str) -> None:
        self._voice.speak()
        self._done = done
        self._bar.update(
            self._line, completed=done, total=total, description=one_line(label, 40)
        )

    def begin_anew(self, label: str) -> None:
        """Forget the speed, and show what comes."""
        self._bar.reset(self._line, completed=self._done, description=label)
        self._bar.advance(self._line, 0)  # the time of the next step counts from here


class Steps:
    """A callback of scikit-learn's that moves a bar with each step of a fit."""

    def __init__(self, advance: Callable[[int, int | None, str], object]) -> None:
        self.advance = advance
        self.fit = None
        self.done = 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin anew."""
        self.fit = context
        self.done = 0

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing is left behind."""

    def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:
        """Show what is being done."""
        if context.parent is self.fit:
            self.advance(self.done, self.fit.max_subtasks, context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> None:
        """Count it."""
        if context.parent is self.fit:
            self.done += 1
            self.advance(self.done, self.fit.max_subtasks, context.task_name)
