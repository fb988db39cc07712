"""``kin datasets``: what there is to try, and as a file."""

from pathlib import Path
from shlex import quote

from kinlearn.cli._console import Output, make_table
from kinlearn.cli._errors import UserError, one_line, suggest
from kinlearn.cli._files import check_table_output, write_table
from kinlearn.datasets import fetch_dataset, list_datasets

__all__ = ["get_dataset", "show_datasets"]


def show_datasets(output: Output, home: Path | None = None) -> None:
    """List the data sets and whether they are on this machine."""
    entries = list_datasets(home)
    rows = [
        (
            entry.name,
            f"{entry.rows}",
            "" if entry.features is None else f"{entry.features}",
            "" if entry.tasks is None else f"{entry.tasks}",
            entry.kind,
            "yes" if entry.available else "fetched" if entry.public else "no",
        )
        for entry in entries
    ]
    output.show(
        make_table(
            None, ("name", ">rows", ">features", ">tasks", "kind", "here"), rows,
            "here: the files are in the data folder (--data-home, KINLEARN_DATA); "
            "fetched: kin datasets NAME fetches them.",
        )
    )  # fmt: skip
    output.print_json([entry._asdict() for entry in entries])


def get_dataset(
    name: str, output: Output, *, out: Path | None = None, home: Path | None = None
) -> None:
    """Write a data set to a table that the other commands read."""
    known = [entry.name for entry in list_datasets(home)]
    if name not in known:
        raise UserError(f"There is no data set {name!r}. {suggest(name, known)}")
    entry = next(entry for entry in list_datasets(home) if entry.name == name)
    if not entry.available and not entry.public:
        raise UserError(
            f"The files of {name!r} are not in the data folder, and have no public "
            "address that kinlearn knows: put them there, or name the folder by "
            f"--data-home or KINLEARN_DATA. Original source: {entry.home}"
        )
    out = Path(f"{name.replace(':', '-')}.csv") if out is None else out
    check_table_output(out)
    try:
        data = fetch_dataset(name, as_frame=True, data_home=home)
    except (ValueError, TypeError) as error:  # texts, sparse features
        raise UserError(
            f"{name} is not available as a table. Load it in Python: "
            f"kinlearn.datasets.{entry.loader}."
        ) from error
    except OSError as error:
        raise UserError(one_line(error)) from error
    target = None if data.target is None else data.target.name
    write_table(data.frame, out, output)
    output.show(f"{len(data.frame)} rows of {name} in {out}.")
    if data.task is not None and target is not None:
        output.show(
            "Try: kin compare "
            f"{quote(str(out))} --target {quote(target)} --task {quote(data.task)}"
        )
    output.print_json(
        {
            "name": name,
            "file": str(out),
            "rows": len(data.frame),
            "target": target,
            "task": data.task,
        }
    )
