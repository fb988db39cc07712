"""Output files: under their name stands a whole file or none."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from kinlearn import utils
from kinlearn.cli._errors import UserError, told_by_os

__all__ = ["check_output", "check_table_output", "replacing", "write_table", "written"]

_TABLES = (".csv", ".tsv", ".parquet", ".feather")


def check_output(
    path: Path, *, inputs: Sequence[Path] = (), ending: str | None = None
) -> None:
    """Refuse, before any work, a path that cannot be written later."""
    if path.is_dir():
        raise UserError(
            f"{path} is a folder. Name a file, such as {path}/result{ending or ''}."
        )
    if ending is not None and path.suffix.lower() != ending:
        raise UserError(f"{path} must end in {ending}, such as {path.stem}{ending}.")
    if any(path.resolve() == Path(one).resolve() for one in inputs):
        raise UserError(f"{path} is the input, too. Choose another name for --out.")
    if not path.parent.is_dir():
        raise UserError(
            f"There is no folder {path.parent}. Make it, or write elsewhere."
        )
    if not os.access(path.parent, os.W_OK):
        raise UserError(
            f"The folder {path.parent} cannot be written to. Write elsewhere."
        )


def check_table_output(path: Path, *, inputs: Sequence[Path] = ()) -> None:
    """The same for a table, whose name decides its format."""
    if path.suffix.lower() not in _TABLES:
        raise UserError(
            f"{path} has no ending of a known table format. End its name in one of: "
            f"{', '.join(_TABLES)}."
        )
    check_output(path, inputs=inputs)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """As ``kinlearn.utils.replacing``; errors of the system become a UserError."""
    with written(path), utils.replacing(path) as temporary:
        yield temporary


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Errors of the system about a file that is written become a UserError."""
    try:
        yield
    except OSError as error:
        raise told_by_os(error, path, "write") from error


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame in the format that the name of the file ends in."""
    with replacing(path) as temporary:
        ending = path.suffix.lower()
        if ending == ".parquet":
            frame.to_parquet(temporary, index=False)
        elif ending == ".feather":
            frame.reset_index(drop=True).to_feather(temporary)
        else:
            frame.to_csv(temporary, index=False, sep="\t" if ending == ".tsv" else ",")
