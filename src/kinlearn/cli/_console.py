"""What is printed where: results on standard output, all else on standard error."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from kinlearn.cli._errors import one_line
from kinlearn.utils import visible

__all__ = ["Output", "Steps", "make_table", "progress_on"]

_WIDTH_OF_FILES = 110  # where output goes to a file or a pipe, not to a terminal
_MEMORY = 600  # seconds that the time left is estimated from: steps may take minutes


def _console(stream: TextIO) -> Console:
    wide = None
    if not stream.isatty() and "COLUMNS" not in os.environ:
        wide = _WIDTH_OF_FILES
    return Console(file=stream, width=wide, markup=False, highlight=False, emoji=False)


class Output:
    """The two streams, and how much is printed to them."""

    def __init__(self, json: bool = False, quiet: bool = False) -> None:
        self.json = json
        self.quiet = quiet
        self.out = _console(sys.stdout)
        self.err = _console(sys.stderr)
        self._notes: list[str] = []

    def note(self, *texts: str) -> None:
        """Keep remarks, to be printed once it is clear that all is well."""
        self._notes += map(visible, texts)

    def print_notes(self) -> None:
        """Print the remarks: a command that fails prints its error only."""
        notes, self._notes = self._notes, []
        if not self.quiet:
            for text in notes:
                self.err.print(Text(text, style="dim"), soft_wrap=True)

    def show(self, *things: str | Text | Table) -> None:
        """Print results for people: text or tables."""
        self.print_notes()
        if not (self.quiet or self.json):
            for thing in things:
                shown = thing if isinstance(thing, Table) else _text(thing)
                self.out.print(shown, soft_wrap=isinstance(shown, Text))

    def print_json(self, document: Any) -> None:
        """Print the result as JSON, if that was requested."""
        self.print_notes()
        if self.json:
            text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
            if visible(text) != text:
                text = json.dumps(document, indent=2, allow_nan=False)
            sys.stdout.write(text + "\n")
            sys.stdout.flush()


def make_table(
    title: str | None,
    columns: Sequence[str],
    rows: Iterable[Iterable[Any]],
    caption: str | None = None,
) -> Table:
    """A table for the terminal."""
    table = Table(
        title=None if title is None else Text(visible(title), style="bold"),
        caption=None if caption is None else Text(visible(caption), style="dim"),
        title_justify="left",
        caption_justify="left",
    )
    for name in columns:
        right = name.startswith(">")
        table.add_column(
            _text(name.removeprefix(">")), justify="right" if right else "left"
        )
    for row in rows:
        table.add_row(*map(_text, row))
    return table


def _text(cell: Any) -> Text:
    """Text for the terminal; what names hide in it is seen."""
    if isinstance(cell, Text):
        return Text(visible(cell.plain), style=cell.style)
    return Text(visible(str(cell)))


@contextmanager
def progress_on(output: Output, label: str = "comparing") -> Iterator["_Advance"]:
    """A progress bar with the time left, if the stream is a terminal."""
    seen = output.err.is_terminal and not output.quiet
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("time left"),
        TimeRemainingColumn(),
        console=output.err,
        transient=True,
        speed_estimate_period=_MEMORY,
        disable=not seen,
    )
    # rich before 14.3 ends also a bar that it does not show with an empty line
    with bar if seen else nullcontext():
        yield _Advance(bar, output, label)


class _Advance:
    """Moves a bar."""

    def __init__(self, bar: Progress, output: Output, label: str) -> None:
        self._bar, self._output = bar, output
        self._line = bar.add_task(label, total=None)
        self._done = 0

    def __call__(self, done: int, total: int | None, label: str) -> None:
        self._output.print_notes()
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
