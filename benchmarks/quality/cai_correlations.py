"""Table 4.3 of Cai 2011: ``python -m benchmarks.quality.cai_correlations``.

"Absolute value of Pearson correlation coefficients between each attribute variable and
the output class variable" of the Ljubljana set (section 4.5.1), on all 286 rows: with
277, those without gaps, no figure agrees. *Silent:* how texts are coded. Ranges are
coded by their lower ends, menopause in the order premenopausal, before 40, after 40,
two values as 0 and 1. Of the caps, which eight patients lack, it is whether they are
known; the quadrants are coded in the order that comes nearest, of all orders.

A record is one line of JSON: one attribute.
"""

import sys
from itertools import permutations
from pathlib import Path

import numpy as np

from benchmarks.commandline import print_line
from benchmarks.environment import commit_of_source, now
from benchmarks.jsonlines import JsonLines
from kinlearn.datasets import fetch_uci

RECORDS = Path(__file__).parents[1] / "records" / "cai_correlations.jsonl"
PUBLISHED = {
    "age": 0.0675,
    "menopause": 0.0588,
    "tumor-size": 0.1784,
    "inv-nodes": 0.3027,
    "node-caps": 0.0289,
    "deg-malig": 0.2994,
    "breast": 0.0586,
    "breast-quad": 0.0910,
    "irradiat": 0.1939,
}


def _lower_end(text):
    return float(str(text).partition("-")[0])


def _order(values):
    """A coding by the place in a list; a missing value comes last."""
    place = {value: k for k, value in enumerate(values)}
    return lambda text: place.get(text, len(place))


def codings():
    """Ways to code each attribute: their names, and functions of a value."""
    quadrants = ("central", "left_low", "left_up", "right_low", "right_up")
    return {
        "age": {"lower ends": _lower_end},
        "tumor-size": {"lower ends": _lower_end},
        "inv-nodes": {"lower ends": _lower_end},
        "menopause": {"premeno, lt40, ge40": _order(["premeno", "lt40", "ge40"])},
        "node-caps": {
            "missing or not": lambda text: text != text,
            "no, yes, missing": _order(["no", "yes"]),
        },
        "deg-malig": {"1 to 3": float},
        "breast": {"left, right": _order(["left", "right"])},
        "breast-quad": {", ".join(p): _order(p) for p in permutations(quadrants)},
        "irradiat": {"no, yes": _order(["no", "yes"])},
    }


def correlations(table, y):
    """For each attribute the coding that comes nearest, and its correlation."""
    found = []
    for name, ways in codings().items():
        values = {
            way: abs(np.corrcoef([float(code(v)) for v in table[name]], y)[0, 1])
            for way, code in ways.items()
        }
        way = min(values, key=lambda each: abs(values[each] - PUBLISHED[name]))
        found.append(
            {
                "attribute": name,
                "correlation": round(float(values[way]), 6),
                "coding": way,
                "codings": len(ways),
            }
        )
    return found


def table(records):
    """Rows of a table: the published figure, ours and how it was coded.

    Parameters
    ----------
    records : list of dict
        Of the file.

    Returns
    -------
    list of list of str
        The heading first.
    """
    rows = [["attribute", "published", "here", "coded", ""]]
    for name, published in PUBLISHED.items():
        for record in records:
            if record["attribute"] != name:
                continue
            value = record["correlation"]
            same = f"{value:.4f}" == f"{published:.4f}"
            coded = record["coding"]
            if record["codings"] > 2:
                coded = f"nearest of {record['codings']} orders"
            mark = "to all digits" if same else ""
            rows.append([name, f"{published:.4f}", f"{value:.4f}", coded, mark])
    return rows


def main():
    """Compute what the file lacks, and print the table, in Markdown."""
    data = fetch_uci("breast_cancer_ljubljana", group=None, as_frame=True)
    with JsonLines(RECORDS) as store:
        done = {record["attribute"] for record in store.records}
        for record in correlations(data.data, np.asarray(data.target, dtype=float)):
            if record["attribute"] not in done:
                made = {"commit": commit_of_source(), "when": now()}
                store.append({**record, "n_rows": len(data.target), **made})
        heading, *rows = table(store.records)
    for row in (heading, ["---"] * len(heading), *rows):
        print_line(f"| {' | '.join(row)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
