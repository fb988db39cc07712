"""The task data model, at the size it promises."""

from benchmarks.problems import load
from benchmarks.speed.case import Limit, Work, case


def _validate(X, y):
    from kinlearn.tasks import check_task_data

    return check_task_data(X, y, task=-1, labels="classes", order="F")


@case(
    "validate-tasks",
    limit=Limit(seconds=2.0, memory_of_data=2.0),
    needs=("kinlearn.tasks",),
    memory=True,
)
def validate_many_tasks():
    """Validation of 1,000,000 rows x 10 features in 100,000 tasks, no peer."""
    problem = load("many-tasks")
    return Work(
        ours=lambda: _validate(problem.X, problem.y), data_bytes=problem.n_bytes
    )


@case("validate-tasks-wide", needs=("kinlearn.tasks",), memory=True)
def validate_wide_tasks():
    """Validation of 1,000,000 rows x 50 features in 1,000 tasks, no peer."""
    problem = load("many-tasks", n_features=50, n_tasks=1_000)
    return Work(
        ours=lambda: _validate(problem.X, problem.y), data_bytes=problem.n_bytes
    )
