"""The command ``kin``: from arguments to an exit code.

No failure prints a traceback: each is one line.
"""

import gc
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn, TextIO

from kinlearn.cli._errors import UserError, file_error, one_line

__all__ = ["main", "run"]

_STOPPED = 130
_process = {"is_own": False}  # whether this process does one command and ends


def main() -> NoReturn:
    """Run the command; without its packages, print how to get them."""
    _process["is_own"] = True
    # Most of what is made at the start lives until the end.
    gc.set_threshold(100_000, 20, 20)
    try:
        import_module("kinlearn.cli._app")
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write(
            f"kin needs {error.name}, which is not installed. Install it with: "
            "pip install 'kinlearn[report]'\n"
        )
        raise SystemExit(2) from error
    raise SystemExit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run ``kin`` with these arguments."""
    import typer

    from kinlearn.cli._app import app

    debug = "--debug" in arguments
    _unwind_on_sigterm()
    with warnings.catch_warnings():
        if not debug:
            quiet = "--quiet" in arguments or "-q" in arguments
            warnings.showwarning = _warning_printer(quiet)
        try:
            command = typer.main.get_command(app)
            code = command.main(list(arguments), prog_name="kin", standalone_mode=False)
        except (KeyboardInterrupt, typer.Abort):
            code = _STOPPED
        except UserError as error:
            if debug:
                raise
            return _fail(one_line(error), 2)
        except typer.TyperException as error:
            return _fail(_usage(error), 2)
        except OSError as error:
            if debug:
                raise
            path = one_line(error.filename or "a file", 100)
            return _fail(one_line(file_error(error, path, "use")), 2)
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
    path = "kin" if context is None else context.command_path
    return f"{message or 'A command is missing'}. See: {path} --help"


def _warning_printer(quiet: bool) -> Callable[..., None]:
    """Prints warnings of the libraries as remarks: one line, each once."""
    printed = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        text = one_line(message, 200)
        if not quiet and text not in printed:
            printed.add(text)
            sys.stderr.write(f"Note: {text}\n")

    return show


def _unwind_on_sigterm() -> None:
    """Let SIGTERM unwind the stack, so that temporary files go."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
