"""The commands and their options; the work is done elsewhere.

Imports that take time stand inside the commands: ``kin --help`` needs none.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import kinlearn
from kinlearn.cli._errors import UserError

if TYPE_CHECKING:
    from kinlearn.cli._console import Output
    from kinlearn.cli._training import Training

__all__ = ["app"]

# Options that several commands share.
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

app = typer.Typer(
    name="kin",
    help="Borrow strength from related data, and know whether it helped.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
datasets = typer.Typer(help="Data sets to try things on.", no_args_is_help=True)
app.add_typer(datasets, name="datasets")


def _show_version(value: bool) -> None:
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
) -> None:
    """Options of kin itself."""


def _wanted(
    classification: bool, regression: bool
) -> Literal["classification", "regression"] | None:
    if classification and regression:
        raise UserError(
            "--classification and --regression exclude each other. Drop one."
        )
    if classification or regression:
        return "classification" if classification else "regression"
    return None


def _check_jobs(jobs: int | None) -> None:
    if jobs == 0:
        raise UserError("--jobs 0 is not allowed. Use 1 or more, or -1 for all.")


def _models(incomplete: str) -> list[str]:
    from kinlearn.cli._models import MODELS

    return [name for name in MODELS if name.startswith(incomplete)]


def _dataset_names(incomplete: str) -> list[str]:
    from kinlearn.datasets import list_datasets

    names = [entry.name for entry in list_datasets()]
    return [name for name in names if name.startswith(incomplete)]


def _forms(incomplete: str) -> list[str]:
    from kinlearn.cli._models import FORMS

    return [name for name in FORMS if name.startswith(incomplete)]


def _training(
    output: "Output",
    data: Path,
    reading: dict[str, Any],
    *,
    target: str | None,
    fits: bool = True,
    **columns: Any,
) -> "Training":
    """Read the table, and note what was decided on the way."""
    from kinlearn.cli._files import read_table
    from kinlearn.cli._training import open_features, open_training

    source = read_table(data, **reading)
    if target is None:
        training = open_features(source, source.frame, **columns)
    else:
        training = open_training(source, target=target, **columns)
    output.note(*source.remarks, *training.remarks)
    if fits and training.target_remark is not None:
        output.note(training.target_remark)
    output.note(*training.suspicions)
    return training


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the page goes (.html).")] = Path(
        "kinlearn-demo.html"
    ),
    jobs: Jobs = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show on a made-up example whether clinics should share a model."""
    from kinlearn.cli._console import Output
    from kinlearn.cli._files import check_output

    _check_jobs(jobs)
    check_output(out, ending=".html")

    from kinlearn.cli._demo import run_demo

    run_demo(Output(json, quiet), out=out, n_jobs=jobs)


@app.command()
def compare(
    data: Data,
    target: Target,
    task: Task,
    out: Annotated[
        Path | None, typer.Option(help="Write the page (.html) here.")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Keep finished folds here; a stopped run goes on from it."),
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 5,
    repeats: Annotated[
        int | None, typer.Option(help="Times to repeat it. Else by size of the data.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Such as roc_auc or r2. Else by kind of target.")
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            help="Words of contenders' names, with commas: ridge,kin. Else all."
        ),
    ] = None,
    no_kin: Annotated[
        bool,
        typer.Option("--no-kin", help="Leave out Kin, which takes longest."),
    ] = False,
    curve: Annotated[
        bool, typer.Option(help="Also compute the gain by rows per task.")
    ] = True,
    classification: Classification = False,
    regression: Regression = False,
    drop: Drop = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006
    categorical: Categorical = [],  # noqa: B006
    separator: Separator = None,
    encoding: Encoding = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Should these groups share a model? Who is helped, who is hurt?"""
    from kinlearn.cli._console import Output
    from kinlearn.cli._files import check_output

    wanted = _wanted(classification, regression)
    _check_jobs(jobs)
    if folds < 2:
        raise UserError(f"--folds {folds}: at least 2 are needed, 5 are usual.")
    if repeats is not None and repeats < 1:
        raise UserError(f"--repeats {repeats}: at least 1 is needed.")
    if out is not None:
        check_output(out, inputs=[data], ending=".html")
    if store is not None and not store.parent.is_dir():
        raise UserError(
            f"There is no folder {store.parent}. Make it, or store elsewhere."
        )

    from kinlearn.cli._compare import check_models, compare_table

    check_models(models, no_kin)
    output = Output(json, quiet)
    columns: Any = {"drop": drop, "keep": keep, "categorical": categorical}
    reading = {"separator": separator, "encoding": encoding}
    training = _training(
        output, data, reading, target=target, task=task, wanted=wanted, **columns
    )
    compare_table(
        training, output, out=out, store=store, n_splits=folds, n_repeats=repeats,
        metric=metric, models=models, no_kin=no_kin, curve=curve, n_jobs=jobs,
        seed=seed, columns={**columns, **reading},
    )  # fmt: skip


@app.command()
def fit(
    data: Data,
    target: Target,
    task: Task,
    save: Annotated[Path, typer.Option(help="Write the model (.skops) here.")],
    card: Annotated[
        Path | None,
        typer.Option(help="Write a page on the model (.html) here, the model card."),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(help="Sign the model with the key in this file."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="Which model. kin tries many and weighs them; extra-trees is quick. "
            "Or a contender of kin compare by its name, such as 'ridge, alone'.",
            autocompletion=_models,
        ),
    ] = "kin",
    form: Annotated[
        str | None,
        typer.Option(
            help="alone, pooled or task-as-feature (default), for models that do not "
            "share by themselves.",
            autocompletion=_forms,
        ),
    ] = None,
    set_: Annotated[
        list[str],
        typer.Option("--set", help="A parameter, name=value. May be repeated."),
    ] = [],  # noqa: B006 - typer copies it
    estimator: Annotated[
        list[str],
        typer.Option(
            help="A candidate of yours for kin, name=package.module.Class. May be "
            "repeated."
        ),
    ] = [],  # noqa: B006
    classification: Classification = False,
    regression: Regression = False,
    drop: Drop = [],  # noqa: B006
    keep: Keep = [],  # noqa: B006
    categorical: Categorical = [],  # noqa: B006
    separator: Separator = None,
    encoding: Encoding = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Fit a model to all groups and save it."""
    from kinlearn.cli._console import Output
    from kinlearn.cli._files import check_output
    from kinlearn.cli._fit import fit_model
    from kinlearn.cli._key import read_key
    from kinlearn.cli._models import check_model, own_estimators

    wanted = _wanted(classification, regression)
    _check_jobs(jobs)
    check_model(model, form)
    estimators = own_estimators(estimator, model)
    check_output(save, inputs=[data], ending=".skops")
    if card is not None:
        check_output(card, inputs=[data], ending=".html")
    key = None if sign is None else read_key(sign)
    output = Output(json, quiet)
    training = _training(
        output, data, {"separator": separator, "encoding": encoding}, target=target,
        task=task, wanted=wanted, drop=drop, keep=keep, categorical=categorical,
    )  # fmt: skip
    fit_model(
        training, save, output, model=model, form=form, settings=set_, n_jobs=jobs,
        seed=seed, card=card, estimators=estimators, key=key,
    )  # fmt: skip


@app.command()
def predict(
    model: Annotated[
        Path, typer.Argument(help="A model of kin fit, or of kinlearn.save in Python.")
    ],
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the predictions here (.csv, .parquet, ...)."),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of every class.")
    ] = False,
    id_: Annotated[
        list[str],
        typer.Option("--id", help="A column to carry over. May be repeated."),
    ] = [],  # noqa: B006 - typer copies it
    unknown_task: Annotated[
        str,
        typer.Option(
            help="Groups that the model has not seen: warn (predict from what is "
            "common, and name them), share (the same without a remark) or error."
        ),
    ] = "warn",
    trust: Annotated[
        list[str],
        typer.Option(
            help="A type that the model may build, beside those of kinlearn and "
            "scikit-learn. May be repeated."
        ),
    ] = [],  # noqa: B006
    verify: Annotated[
        Path | None,
        typer.Option(help="Take the model only if the key in this file signed it."),
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict new rows with a saved model."""
    from kinlearn.cli._console import Output
    from kinlearn.cli._files import check_table_output, read_table
    from kinlearn.cli._key import read_key
    from kinlearn.cli._predict import open_saved, predict_rows

    if unknown_task not in ("warn", "share", "error"):
        raise UserError(
            f"--unknown-task is warn, share or error, not {unknown_task!r}."
        )
    if out is not None:
        check_table_output(out, inputs=[model, data])
    output = Output(json, quiet)
    if data.suffix.lower() == ".skops" != model.suffix.lower():
        raise UserError(
            f"{model} is not a model of kin's. The model comes first, then the data."
        )
    saved = open_saved(model, trust, None if verify is None else read_key(verify))
    source = read_table(data, separator=separator, encoding=encoding)
    output.note(*source.remarks)
    predict_rows(
        saved, source, output, out=out, proba=proba, ids=id_, unknown=unknown_task
    )


@app.command()
def relate(
    data: Data,
    task: Task,
    target: Annotated[
        str | None,
        typer.Option(help="The target: no feature; label_shift compares it."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="mmd, ks, kl, kl_directed, hellinger, mutual_information, logdet, "
            "proxy_a, label_shift; several with commas."
        ),
    ] = "mmd",
    out: Annotated[
        Path | None, typer.Option(help="Write all pairs here (.csv, .parquet, ...).")
    ] = None,
    drop: Drop = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006
    categorical: Categorical = [],  # noqa: B006
    separator: Separator = None,
    encoding: Encoding = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """How far apart are the groups?"""
    from kinlearn.cli._console import Output
    from kinlearn.cli._files import check_table_output
    from kinlearn.cli._relate import check_methods, relate_tasks

    _check_jobs(jobs)
    methods = check_methods(method, target)
    if out is not None:
        check_table_output(out, inputs=[data])
    output = Output(json, quiet)
    training = _training(
        output, data, {"separator": separator, "encoding": encoding}, target=target,
        task=task, drop=drop, keep=keep, categorical=categorical, fits=False,
    )  # fmt: skip
    relate_tasks(training, output, methods=methods, out=out, n_jobs=jobs, seed=seed)


_Home = Annotated[
    Path | None, typer.Option(help="The data folder. Else KINLEARN_DATA.")
]


@datasets.command("list")
def list_(
    data_home: _Home = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """List them, and which are on this machine."""
    from kinlearn.cli._console import Output
    from kinlearn.cli._datasets import show_datasets

    show_datasets(Output(json, quiet), data_home)


@datasets.command()
def get(
    name: Annotated[
        str, typer.Argument(help="A name of the list.", autocompletion=_dataset_names)
    ],
    out: Annotated[
        Path | None, typer.Option(help="The file. Else the name with .csv, here.")
    ] = None,
    data_home: _Home = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write one as a table that the other commands read."""
    from kinlearn.cli._console import Output
    from kinlearn.cli._datasets import get_dataset

    get_dataset(name, Output(json, quiet), out=out, home=data_home)
