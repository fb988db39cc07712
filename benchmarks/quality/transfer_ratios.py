"""Accuracy by target ratio: ``python -m benchmarks.quality.transfer_ratios``.

Reads what the protocols ``transfer-*-0.5`` to ``transfer-*-10`` have recorded, prints
the means in Markdown, and draws them as figure 3.5 of Al-Stouhi 2013 does.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import benchmarks.quality.protocols  # noqa: F401 - declares the protocols
from benchmarks.commandline import print_line, with_one_line_errors
from benchmarks.environment import RESULTS
from benchmarks.jsonlines import read_records
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.runner import finished
from benchmarks.registry import BenchmarkError

PICTURE = Path(__file__).parents[2] / "docs" / "_static" / "transfer-ratios.svg"
PROBLEMS = ("rec-sci", "sci-talk", "rec-talk")
RATIOS = ("0.5", "2", "5", "10")
LINES = {
    "AdaBoost, target": ("#8a8d91", "o"),
    "kinlearn none": ("#d1495b", "s"),
    "kinlearn dynamic": ("#1b6ca8", "^"),
    "kinlearn balanced": ("#66a182", "D"),
    "kinlearn dynamic, guard": ("#2e4057", "v"),
}


def accuracies(results, problem, ratio):
    """Mean, standard error and number of splits of each line."""
    path = Path(results) / f"{PROTOCOLS[f'transfer-{problem}-{ratio}'].name}.jsonl"
    if not path.exists():
        raise BenchmarkError(f"{path} is not there: run the protocol first.")
    values = {name: [] for name in LINES}
    for record in finished(read_records(path)).values():
        if record["contender"] in values and record["error"] is None:
            values[record["contender"]].append(record["scores"]["accuracy"])
    return {
        name: (np.mean(found), np.std(found, ddof=1) / np.sqrt(len(found)), len(found))
        for name, found in values.items()
        if len(found) > 1
    }


def _run(options):
    found = {
        (problem, ratio): accuracies(options.results, problem, ratio)
        for problem in PROBLEMS
        for ratio in RATIOS
    }
    print_line("| problem | target | splits | " + " | ".join(LINES) + " |")
    print_line("| --- " * (3 + len(LINES)) + "|")
    for (problem, ratio), by_name in found.items():
        n_splits = max((each[2] for each in by_name.values()), default=0)
        cells = [_cell(by_name.get(name), n_splits) for name in LINES]
        print_line(f"| {problem} | {ratio}% | {n_splits} | " + " | ".join(cells) + " |")
    _draw(found)
    return 0


def _cell(figures, n_splits):
    """The mean, and the number of splits where it is another than in the row."""
    if figures is None:
        return "-"
    return f"{figures[0]:.3f}" + (f" ({figures[2]})" if figures[2] < n_splits else "")


def _draw(found):
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "kinlearn"  # the same file from the same figures
    figure, axes = plt.subplots(
        1, 3, figsize=(9, 3.3), sharey=True, layout="constrained"
    )
    for ax, problem in zip(axes, PROBLEMS, strict=True):
        for name, (color, marker) in LINES.items():
            points = [
                (float(ratio), *found[problem, ratio][name][:2])
                for ratio in RATIOS
                if name in found[problem, ratio]
            ]
            if not points:
                continue
            x, mean, error = np.transpose(points)
            ax.errorbar(x, mean, error, color=color, marker=marker, ms=4, label=name)
        ax.set_xscale("log")
        ax.set_xticks(
            [float(r) for r in RATIOS], [f"{r}%" for r in RATIOS], minor=False
        )
        ax.set_xticks([], minor=True)
        ax.set_title(problem)
        ax.set_xlabel("target rows, share of the source's")
    axes[0].set_ylabel("accuracy")
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(LINES),
        frameon=False,
        fontsize="small",
    )
    figure.savefig(PICTURE, metadata={"Date": None})


def main(arguments=None):
    """Print the table and draw the picture; 2 if the records are not there."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.transfer_ratios"
    )
    parser.add_argument("--results", default=RESULTS, help="folder of the records")
    return with_one_line_errors(_run, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
