"""The command ``kin``."""

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command; without its packages, print how to get them."""
    from kinlearn.cli._quick import hurry

    hurry()
    try:
        from kinlearn.cli._run import run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write(
            f"kin needs {error.name}, which is not installed. Install it with: "
            "pip install 'kinlearn[report]'\n"
        )
        raise SystemExit(2) from error
    raise SystemExit(run(sys.argv[1:]))
