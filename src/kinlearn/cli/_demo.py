"""``kin demo``: does sharing help? A comparison on a small example."""

from pathlib import Path

from kinlearn.audit import compare_sharing, default_contenders
from kinlearn.cli._compare import save_page, show_result
from kinlearn.cli._console import Voice
from kinlearn.cli._progress import progress_on
from kinlearn.datasets import load_demo

__all__ = ["run_demo"]

# Who takes part: enough for a comparison of some 20 seconds.
_FAMILIES = ("logistic regression", "extra trees")
_LEFT_OUT = "task as feature"


def run_demo(voice: Voice, *, out: Path, n_jobs: int | None) -> None:
    """Compare the contenders on the demo data, show the result, write the page.

    Parameters
    ----------
    voice : Voice
        Prints the result.
    out : Path
        Where the page goes.
    n_jobs : int
        Workers.
    """
    data = load_demo(as_frame=True)
    voice.show(
        f"{len(data.data)} patients of {len(data.task_names)} clinics (made-up data). "
        "Will a patient be readmitted within a year?\n"
        "Should the clinics share a model? Area under the ROC curve (AUC), "
        "cross-validated: 0.5 is guessing.\n"
    )
    models = {
        name: model
        for name, model in default_contenders(
            data.data, data.target, task=data.task
        ).items()
        if any(family in name for family in _FAMILIES) and _LEFT_OUT not in name
    }
    with progress_on(voice) as progress:
        result = compare_sharing(
            data.data,
            data.target,
            task=data.task,
            estimators=models,
            n_repeats=3,
            curve=False,
            n_jobs=n_jobs,
            random_state=0,
            progress=progress,
        )
    document = result.to_dict()
    show_result(document, voice)
    save_page(document, out, voice)
    voice.show(
        f"{document['run']['seconds']:.0f} s. On your own table: kin compare data.csv "
        "--target COLUMN --task COLUMN --out report.html"
    )
    voice.give(document)
