"""From words to an exit code: no traceback, one line for every failure."""

import signal
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, TextIO

import typer

from kinlearn.cli._app import app
from kinlearn.cli._errors import UserError, one_line

__all__ = ["run"]

_STOPPED = 130


def run(words: list[str]) -> int:
    """Run ``kin`` with these words."""
    debug = "--debug" in words
    _end_tidily_on_term()
    with warnings.catch_warnings():
        if not debug:
            warnings.showwarning = _say_warning("--quiet" in words or "-q" in words)
        try:
            command = typer.main.get_command(app)
            code = command.main(list(words), prog_name="kin", standalone_mode=False)
        except (KeyboardInterrupt, typer.Abort):
            code = _STOPPED
        except UserError as error:
            if debug:
                raise
            return _fail(one_line(error), 2)
        except typer.TyperException as error:
            return _fail(_usage(error), 2)
        except Exception as error:  # the last line of defence
            if debug:
                raise
            name = type(error).__name__
            return _fail(
                f"Unexpected error: {name}: {one_line(error, 160)}. Run it "
                "again with --debug and report what it prints.",
                1,
            )
    if code == _STOPPED:
        return _fail("Stopped. Files that were not complete are not kept.", _STOPPED)
    return code if isinstance(code, int) else 0


def _fail(line: str, code: int) -> int:
    sys.stderr.write(f"kin: {line}\n")
    sys.stderr.flush()
    return code


def _usage(error: Any) -> str:
    """The message of typer's error, and where to read more."""
    context = getattr(error, "ctx", None)
    message = one_line(error.format_message(), 200).rstrip(".")
    if not message:
        message = "A command is missing"
    path = "kin" if context is None else context.command_path
    return f"{message}. See: {path} --help"


def _say_warning(quiet: bool) -> Callable[..., None]:
    """Warnings of the libraries, as remarks: one line, each once."""
    said = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        text = one_line(message, 200)
        if not quiet and text not in said:
            said.add(text)
            sys.stderr.write(f"Note: {text}\n")

    return show


def _end_tidily_on_term() -> None:
    """Let SIGTERM unwind the stack, so that temporary files go."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
