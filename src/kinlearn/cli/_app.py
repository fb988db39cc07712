"""The commands and their options; the work is done elsewhere."""

from typing import Annotated

import typer
from rich.console import Console

import kinlearn

__all__ = ["app"]

app = typer.Typer(
    name="kin",
    help="Borrow strength from related data, and know whether it helped.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(value: bool):
    if value:
        typer.echo(f"kinlearn {kinlearn.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Show the version and stop.",
        ),
    ] = False,
):
    """Options of kin itself."""


@app.command()
def demo(
    json: Annotated[
        bool, typer.Option("--json", help="Print the scores as JSON, for machines.")
    ] = False,
):
    """Show on a made-up example whether clinics should share a model."""
    from kinlearn.cli._demo import run_demo, show_demo

    scores = run_demo()
    if json:
        typer.echo(scores.to_json())
    else:
        show_demo(scores, Console())
