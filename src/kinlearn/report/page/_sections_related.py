"""Results on similarity and size: heat maps, distances, rows per task."""

from typing import Any

import numpy as np

from kinlearn.report._result import as_matrix, plain
from kinlearn.report.displays import DISTANCE_TITLES
from kinlearn.report.page._charts import (
    HeatMap,
    curve_series,
    distance_plot,
    rows_curve,
)
from kinlearn.report.page._html import (
    Html,
    Reading,
    Section,
    details,
    figure,
    join,
    marker_key,
    numbers_behind,
    paragraph,
    scrolling,
    table,
    tag,
    task_label,
)

__all__ = ["affinity", "distances", "rows_per_task"]

_MATRIX_TASKS = 12
_NEAREST = 3


def affinity(reading: Reading) -> Section | None:
    """The affinity that a model learned."""
    square = (reading.data["relatedness"] or {}).get("affinity")
    if not square or len(square["tasks"]) < 2:
        return None
    heat = _heat_map(reading, square, affinity=True)
    return Section(
        "affinity",
        "Which tasks the model treats alike",
        join(
            paragraph(
                f"Learned by {square['contender']} from features and target, not from "
                "names. Tasks that stand side by side were found similar by "
                "clustering.",
                _left_out(reading, heat),
            ),
            _drawn(
                heat,
                name="Affinity between tasks",
                key="affinity",
                reads=(
                    "How to read it: each row and each column is a task, in the same "
                    "order; the more a square stands out from the page, the more the "
                    "two have in common. Blocks along the diagonal are groups of kin."
                ),
            ),
        ),
    )


def distances(reading: Reading) -> Section | None:
    """How far apart the tasks' data are, and whether that predicts the gain."""
    related = reading.data["relatedness"] or {}
    squares = {
        name: square
        for name, square in (related.get("distances") or {}).items()
        if square and len(square["tasks"]) > 1
    }
    if not squares:
        return _only_note(related.get("note"))
    tests = [t for t in related.get("predicts_gain") or () if t["spearman"] is not None]
    return Section(
        "distances",
        "Does distance predict the gain?",
        join(
            paragraph(
                "Distances compare the tasks' data before any model is fitted.",
                _conclusion(tests),
                related.get("note"),
            ),
            _predictions(tests),
            _scatter(reading, squares, tests),
            [_map_of(reading, name, square) for name, square in squares.items()],
        ),
    )


def _only_note(note: str | None) -> Section | None:
    """A section on why there are no distances, if that is known."""
    if not note:
        return None
    return Section("distances", "Does distance predict the gain?", paragraph(note))


def rows_per_task(reading: Reading) -> Section | None:
    """How many rows until sharing stops paying."""
    curve, numbers = reading.data["curve"], reading.numbers
    if not curve or not any(_has_numbers(line) for line in curve["lines"]):
        return None
    legend = [
        tag("li", _series_key(css), line["contender"])
        for css, line in zip(curve_series(curve), curve["lines"], strict=True)
    ]
    columns = [("Rows", "number")] + [
        (f"{line['contender']}{part}", "number")
        for line in curve["lines"]
        for part in ("", ", from", ", to")
    ]
    rows = [
        [
            f"{count:,}",
            *(
                numbers.score((line[part] or [None] * len(curve["rows"]))[k])
                for line in curve["lines"]
                for part in ("mean", "low", "high")
            ),
        ]
        for k, count in enumerate(curve["rows"])
    ]
    return Section(
        "rows",
        "How many rows until sharing stops paying",
        join(
            paragraph(
                "Each task in turn was cut down to so many training rows, while the "
                "others kept theirs.",
                _crossing_words(curve),
                _stand_in_words(reading, curve),
            ),
            figure(
                tag("ul", legend, class_="legend"),
                rows_curve(curve, numbers),
                caption=(
                    f"How to read it: {numbers.better}. Where the sharing line is the "
                    "better one, a task of that size does well to share; a band is the "
                    f"{reading.interval}."
                ),
            ),
            numbers_behind(
                "chart", columns, rows, caption=f"{numbers.label} by rows per task"
            ),
        ),
    )


def _heat_map(reading: Reading, square: dict[str, Any], *, affinity: bool) -> HeatMap:
    n_rows = {task["task"]: task["n_rows"] for task in reading.data["tasks"]}
    return HeatMap(square, n_rows, affinity=affinity)


def _left_out(reading: Reading, heat: HeatMap) -> str | None:
    """How many tasks the map does not show; the result may have left some out too."""
    shown, total = len(heat.tasks), reading.data["data"]["n_tasks"]
    if shown == total:
        return None
    return f"The map shows {shown} of {total:,} tasks, those with the most rows."


def _drawn(heat: HeatMap, *, name: str, key: str, reads: str) -> Html:
    pairs = heat.nearest(1)
    nearest = [(t, p[0]) for t, p in zip(heat.tasks, pairs, strict=True) if p]
    best = max if heat.affinity else min
    description = f"{len(heat.tasks)} tasks in clustering order."
    if nearest:
        a, (b, value) = best(nearest, key=lambda pair: pair[1][1])
        description += f" Most alike are {a} and {b} ({plain(value, 2)})."
    return join(
        figure(
            scrolling(heat.draw(name=name, description=description, key=key), name),
            heat.legend(),
            caption=reads,
            css="map",
        ),
        _table_of(heat, name),
    )


def _table_of(heat: HeatMap, name: str) -> Html:
    if len(heat.tasks) <= _MATRIX_TASKS:
        columns = [("Task", ""), *((task_label(t, 16), "number") for t in heat.tasks)]
        rows = [
            [
                task_label(task),
                *(
                    "" if i == j else plain(None if np.isnan(v) else float(v), 2)
                    for j, v in enumerate(row)
                ),
            ]
            for i, (task, row) in enumerate(zip(heat.tasks, heat.values, strict=True))
        ]
    else:
        columns = [("Task", ""), (f"The {_NEAREST} most alike, with the value", "")]
        rows = [
            [
                task_label(task),
                join(
                    join(", " if k else "", task_label(other), f" {plain(value, 2)}")
                    for k, (other, value) in enumerate(near)
                ),
            ]
            for task, near in zip(heat.tasks, heat.nearest(_NEAREST), strict=True)
        ]
    return numbers_behind("map", columns, rows, caption=name)


def _title(distance: str) -> str:
    return DISTANCE_TITLES.get(distance, distance)


def _conclusion(tests: list[dict[str, Any]]) -> str:
    if not tests:
        return "There are too few scored tasks to test whether they predict the gain."
    # the more distances are tried, the clearer the best of them must be
    level = 0.05 / len(tests)
    clear = [test for test in tests if test["p"] is not None and test["p"] < level]
    if not clear:
        return "Here they do not predict the gain: no correlation is clear enough."
    best = max(clear, key=lambda test: abs(test["spearman"]))
    way = "less" if best["spearman"] < 0 else "more"
    return (
        f"Here they do: by {_title(best['distance'])}, tasks that are far from the "
        f"others gain {way}."
    )


def _predictions(tests: list[dict[str, Any]]) -> Html | None:
    if not tests:
        return None
    rows = [
        [
            _title(test["distance"]),
            f"{plain(test['spearman'], 2)}",
            plain(test["p"], 3),
            f"{test['n_tasks']:,}",
        ]
        for test in tests
    ]
    columns = [
        ("Distance", ""),
        ("Rank correlation with gain", "number"),
        ("p", "number"),
        ("Tasks", "number"),
    ]
    return table(columns, rows, caption="Does distance predict the gain?", css="small")


def _scatter(
    reading: Reading, squares: dict[str, dict[str, Any]], tests: list[dict[str, Any]]
) -> Html | None:
    """Gain against the distance that predicts it best."""
    ranked = sorted(tests, key=lambda test: -abs(test["spearman"]))
    name = next((t["distance"] for t in ranked if t["distance"] in squares), None)
    if name is None:
        return None
    points = _points(reading, squares[name])
    if len(points) < 3:
        return None
    rows = [
        [task_label(task), plain(apart, 3), reading.numbers.gain(gain), verdict]
        for task, apart, gain, verdict in points
    ]
    columns = [
        ("Task", ""),
        (_title(name), "number"),
        ("Gain", "number"),
        ("Sharing", ""),
    ]
    return join(
        figure(
            distance_plot(
                [point[1:] for point in points],
                reading.numbers,
                _lower(_title(name)),
                key=f"against-{name}",
            ),
            caption=join(
                "How to read it: one marker per task. A slope from upper left to "
                "lower right would mean that far tasks gain less; a shapeless cloud, "
                "that this distance does not predict the gain. ",
                marker_key(),
            ),
        ),
        numbers_behind(
            "chart", columns, rows, caption="Distance and gain by task", sortable=True
        ),
    )


def _points(
    reading: Reading, square: dict[str, Any]
) -> list[tuple[Any, float, float, str]]:
    """Task, mean distance to the others, gain and verdict, of those that have all."""
    values = as_matrix(square["matrix"])
    np.fill_diagonal(values, np.nan)
    gains = {gain["task"]: gain for gain in reading.data["gains"]}
    points = []
    for task, row in zip(square["tasks"], values, strict=True):
        gain = gains.get(task)
        if gain and gain["gain"] is not None and np.isfinite(row).any():
            apart = float(np.nanmean(row))
            points.append((task, apart, gain["gain"], gain["verdict"]))
    return points


def _lower(title: str) -> str:
    """A title inside a sentence; names of people and abbreviations stay."""
    keep = title.startswith(("Hellinger", "Kolmogorov"))
    return title if keep else title[:1].lower() + title[1:]


def _map_of(reading: Reading, name: str, square: dict[str, Any]) -> Html:
    heat = _heat_map(reading, square, affinity=False)
    title = _title(name)
    return details(
        f"Map of distances: {title}",
        paragraph(_left_out(reading, heat)),
        _drawn(
            heat,
            name=title,
            key=f"distance-{name}",
            reads=(
                "How to read it: each row and each column is a task, in the same "
                "order; the more a square stands out from the page, the further "
                "apart the two. Faint blocks along the diagonal are groups of "
                "similar data."
            ),
        ),
    )


def _has_numbers(line: dict[str, Any]) -> bool:
    return any(value is not None for value in line["mean"] or ())


def _crossing_words(curve: dict[str, Any]) -> str | None:
    crossing, last = curve["crossing"], max(curve["rows"])
    if crossing is not None:
        return (
            f"The lines meet at about {crossing:,.0f} rows; with more, a task no "
            "longer needs the others."
        )
    leaders = {_leader(curve, k) for k in range(len(curve["rows"]))} - {None}
    if len(curve["lines"]) < 2 or len(leaders) != 1:
        return None
    return f"Up to {last:,} rows {leaders.pop()} is ahead all along."


def _stand_in_words(reading: Reading, curve: dict[str, Any]) -> str | None:
    """A note where the best model that shares takes too long for a curve."""
    best = reading.data["headline"]["sharing"]
    if best is None or best in [line["contender"] for line in curve["lines"]]:
        return None
    return f"{best} takes too long for this; the best of the others stands in."


def _leader(curve: dict[str, Any], k: int) -> str | None:
    known = [
        (line["mean"][k], line["contender"])
        for line in curve["lines"]
        if line["mean"] and line["mean"][k] is not None
    ]
    return max(known)[1] if known else None


def _series_key(kind: str) -> Html:
    return tag(
        "svg",
        tag("line", x1=1, x2=33, y1=7, y2=7, class_=f"line {kind}"),
        tag("use", href=f"#mark-{kind}", x=17, y=7, class_=f"mark {kind}"),
        class_="key",
        width=34,
        height=14,
        aria_hidden="true",
    )
