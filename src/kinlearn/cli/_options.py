"""Options that several commands share, each written once."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Categorical",
    "Classification",
    "Data",
    "Debug",
    "Drop",
    "Encoding",
    "Jobs",
    "Json",
    "Keep",
    "Quiet",
    "Regression",
    "Seed",
    "Separator",
    "Target",
    "Task",
]

Data = Annotated[
    Path, typer.Argument(help="A table: CSV, TSV (also .gz), Parquet or Feather.")
]
Target = Annotated[str, typer.Option(help="The column to predict.")]
Task = Annotated[str, typer.Option(help="The column with the group of each row.")]
Separator = Annotated[
    str | None,
    typer.Option(help="Between columns: a character, or tab. Else detected."),
]
Encoding = Annotated[
    str | None, typer.Option(help="Of a text file, such as cp1252. Else detected.")
]
Drop = Annotated[
    list[str], typer.Option(help="A column to leave out. May be repeated.")
]
Keep = Annotated[
    list[str],
    typer.Option(help="A column to use although it looks like an id. May be repeated."),
]
Categorical = Annotated[
    list[str],
    typer.Option(help="A column of numbers that are categories. May be repeated."),
]
Classification = Annotated[
    bool, typer.Option("--classification", help="The target holds classes.")
]
Regression = Annotated[
    bool, typer.Option("--regression", help="The target holds numbers.")
]
Jobs = Annotated[
    int | None, typer.Option(help="How many processors to use; -1 is all, else one.")
]
Seed = Annotated[int, typer.Option(min=0, help="Decides everything that is random.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON and nothing else.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
