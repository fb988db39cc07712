"""What a user waits for before the first line runs."""

import subprocess
import sys

from benchmarks.speed.case import Limit, Seconds, Work, case


def _import_time(statement):
    """Time of an import in an interpreter of its own, without its start."""
    script = (
        "from time import perf_counter; start = perf_counter()\n"
        f"{statement}\n"
        "print(perf_counter() - start)"
    )

    def call():
        done = subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True
        )
        return Seconds(done.stdout)

    return call


@case("import", limit=Limit(times_as_long=1.1))
def import_package():
    """import kinlearn against import sklearn, each in a new interpreter."""
    return Work(
        ours=_import_time("import kinlearn"),
        peers={"scikit-learn": _import_time("import sklearn")},
    )


@case("import-tasks")
def import_task_model():
    """The task data model against scikit-learn's base classes, new interpreters."""
    return Work(
        ours=_import_time("import kinlearn.tasks"),
        peers={"scikit-learn": _import_time("import sklearn.base")},
    )
