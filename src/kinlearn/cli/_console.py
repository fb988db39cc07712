"""What is printed where: results on standard output, all else beside it."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["Voice", "make_table"]

_WIDTH_OF_FILES = 110  # where output goes to a file or a pipe, not to a terminal


def _console(stream: TextIO) -> Console:
    wide = None
    if not stream.isatty() and "COLUMNS" not in os.environ:
        wide = _WIDTH_OF_FILES
    return Console(file=stream, width=wide, markup=False, highlight=False, emoji=False)


class Voice:
    """The two streams, and how much is printed to them."""

    def __init__(self, json: bool = False, quiet: bool = False) -> None:
        self.json = json
        self.quiet = quiet
        self.out = _console(sys.stdout)
        self.err = _console(sys.stderr)
        self._notes: list[str] = []

    def note(self, *texts: str) -> None:
        """Keep remarks, to be printed once it is clear that all is well."""
        self._notes += texts

    def speak(self) -> None:
        """Print the remarks: a command that fails prints its error only."""
        notes, self._notes = self._notes, []
        if not self.quiet:
            for text in notes:
                self.err.print(Text(text, style="dim"), soft_wrap=True)

    def show(self, *things: str | Text | Table) -> None:
        """Print results for people: text or tables."""
        self.speak()
        if not (self.quiet or self.json):
            for thing in things:
                self.out.print(thing, soft_wrap=isinstance(thing, str | Text))

    def give(self, document: Any) -> None:
        """Print the result as JSON, if that was requested."""
        self.speak()
        if self.json:
            text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
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
        title=None if title is None else Text(title, style="bold"),
        caption=None if caption is None else Text(caption, style="dim"),
        title_justify="left",
        caption_justify="left",
    )
    for name in columns:
        right = name.startswith(">")
        table.add_column(
            Text(name.removeprefix(">")), justify="right" if right else "left"
        )
    for row in rows:
        table.add_row(*(c if isinstance(c, Text) else Text(str(c)) for c in row))
    return table
