"""The model card: what a fitted model is, how good, and who shares how much."""

import math
from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import Any

import numpy as np

from kinlearn.report._result import NO_NUMBER, plain
from kinlearn.report.displays import both_ends
from kinlearn.report.page._html import (
    Cell,
    Html,
    Section,
    details,
    figure,
    join,
    paragraph,
    seconds,
    table,
    tag,
    task_label,
    task_text,
    terms,
)
from kinlearn.sharing import TaskCalibration

__all__ = [
    "PARTS",
    "card_sections",
    "card_top",
    "parts_key",
    "score_name",
    "sharing_bar",
    "sharing_order",
]

# Okabe & Ito's, as in the pictures; each with the word beside it
PARTS = {"own": "#D55E00", "shared": "#009E73", "pooled": "#56B4E9"}
_OF_LEVELS = ("#E69F00", "#CC79A7", "#F0E442")  # of levels above the task
_MOST_TASKS = 60
_LEVEL = 0.9
_SIDE = 300  # of the chart of calibration
_LEFT = 72  # beside it, for its ticks and the name of its axis
_MOST_NAMES = 6  # of tasks in a sentence


def score_name(model: Any) -> str:
    """What a Kin estimator's scores are."""
    scoring = model.scoring
    if scoring is None:
        return "accuracy" if hasattr(model, "classes_") else "R²"
    if callable(scoring):
        return getattr(scoring, "__name__", type(scoring).__name__)
    return str(scoring)


def _number(value: float | None, decimals: int = 3) -> str:
    if value is None or not math.isfinite(value):
        return NO_NUMBER if value is None or math.isnan(value) else "∞"
    return plain(float(value), decimals)


def _short(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else _number(value)


def _is_kin(model: Any) -> bool:
    return hasattr(model, "sharing_") and hasattr(model, "candidates_")


def card_top(model: Any, about: Mapping[str, Any]) -> Html:
    """What it is in a sentence, and its main figures."""
    n_tasks = len(getattr(model, "tasks_", [0]))
    target = about.get("target")
    name = str(about.get("model") or type(model).__name__)
    facts = [
        f"{about['rows']:,} rows" if about.get("rows") else None,
        f"{n_tasks:,} {'task' if n_tasks == 1 else 'tasks'}",
        join("task: ", task_label(about["task"])) if about.get("task") else None,
        join("target: ", task_label(target)) if target else None,
    ]
    tiles = []
    if _is_kin(model):
        label = score_name(model)
        pairs = [("known tasks", model.seen_score_), ("new tasks", model.unseen_score_)]
        tiles = [
            tag(
                "div",
                tag("p", f"{label} out of fold, {where}"),
                tag("p", tag("b", _number(value)), class_="tile-figure"),
                class_="tile",
            )
            for where, value in pairs
        ]
    return tag(
        "header",
        tag("p", "Model card", class_="kicker"),
        tag("h1", f"{name}: predicts {target}" if target else name),
        tag("div", tiles, class_="tiles") if tiles else None,
        tag("ul", [tag("li", fact) for fact in facts if fact], class_="facts"),
    )


def card_sections(model: Any, about: Mapping[str, Any]) -> list[Section]:
    """What is known of a model; most of it of Kin only."""
    made = []
    if _is_kin(model):
        made += [_scores(model), _sharing(model), _candidates(model)]
    if hasattr(model, "coverage") and getattr(model, "_conformal", None) is not None:
        made += [_coverage(model), _calibration(model)]
    made.append(_about(model, about))
    return [section for section in made if section is not None]


def _scores(model: Any) -> Section:
    label = score_name(model)
    rows: list = [
        ("known tasks", model.seen_score_, getattr(model, "seen_log_loss_", None)),
        ("new tasks", model.unseen_score_, getattr(model, "unseen_log_loss_", None)),
    ]
    columns = [("rows of", ""), (label, "number")]
    if hasattr(model, "classes_"):
        columns.append(("log loss", "number"))
    levels = getattr(model, "unseen_level_scores_", {})
    for level in [*levels][-2::-1]:  # those above the task's own
        rows.append((f"new tasks, {level} new too", levels[level], None))
    lines = [
        [name, *map(_number, values[: len(columns) - 1])] for name, *values in rows
    ]
    by_task = model.unseen_task_scores_
    order = sorted(by_task, key=lambda t: _last_if_nan(by_task[t]))
    shown, left_out = both_ends(order, _MOST_TASKS)
    body = [(task_label(t), Cell(_number(by_task[t]), by_task[t])) for t in shown]
    return Section(
        "scores",
        "How good is it?",
        join(
            paragraph(
                "On rows that neither models nor weights have seen. New tasks were "
                "left out as a whole, in turn."
            ),
            table(columns, lines, caption="Scores out of fold", css="small dense"),
            details(
                "Each task as if it were new",
                table(
                    [("task", ""), (label, "number")],
                    body,
                    caption=f"{label} of each task, left out{left_out}",
                    css="dense",
                    sortable=True,
                ),
            )
            if body
            else None,
        ),
    )


def _last_if_nan(value: float) -> tuple[bool, float]:
    return math.isnan(value), value


def sharing_order(model: Any) -> list[Any]:
    """Tasks, those with the most of their own first."""
    sharing = model.sharing_
    return sorted(sharing, key=lambda task: -sharing[task]["own"])


def _colours(parts: Iterable[str]) -> dict[str, str]:
    """Colours of the parts of a prediction, those of levels after the others."""
    levels = [part for part in parts if part not in PARTS]
    return PARTS | dict(zip(levels, cycle(_OF_LEVELS), strict=False))


def sharing_bar(parts: Mapping[str, float], width: int = 220) -> Html:
    """A bar of what own, shared and pooled models have in a prediction."""
    pieces, left = [], 0.0
    colours = _colours(parts)
    for part, colour in colours.items():
        wide = parts[part] * width
        pieces.append(tag("rect", x=left, y=0, width=wide, height=12, fill=colour))
        left += wide
    words = ", ".join(f"{part} {parts[part]:.0%}" for part in colours)
    return tag(
        "svg",
        tag("title", words),
        *pieces,
        viewBox=f"0 0 {width} 12",
        width=width,
        height=12,
        role="img",
        style="max-width:100%",
    )


def parts_key(model: Any) -> Html:
    """What the colours of the bars mean."""
    keys = [
        join(
            tag("span", "■ ", style=f"color:{colour}", aria_hidden="true"),
            {"own": "own models", "shared": "models that share"}.get(part, part),
            " ",
        )
        for part, colour in _colours(next(iter(model.sharing_.values()))).items()
    ]
    return tag("p", keys)


def _sharing(model: Any) -> Section:
    sharing, groups = model.sharing_, model.task_groups_ or {}
    shown, left_out = both_ends(sharing_order(model), _MOST_TASKS)
    columns = [("task", ""), ("where predictions come from", "")]
    parts = list(_colours(next(iter(sharing.values()))))
    columns += [(part, "number") for part in parts]
    if groups:
        columns.append(("like tasks", "number"))
    rows = [
        [
            task_label(task),
            sharing_bar(sharing[task]),
            *(Cell(f"{sharing[task][p]:.0%}", sharing[task][p]) for p in parts),
            *([Cell(f"group {groups[task]}", groups[task])] if groups else []),
        ]
        for task in shown
    ]
    made = table(columns, rows, caption=f"Sharing by task{left_out}", sortable=True)
    return Section("sharing", "Who shares how much?", join(parts_key(model), made))


def _candidates(model: Any) -> Section:
    order = np.argsort(-model.crowd_weights_, kind="stable")
    mean = model.weights_.mean(axis=0)
    rows = []
    for k in order.tolist():
        name = str(model.candidates_[k])
        took = model.seconds_[name]
        rows.append(
            [
                name,
                str(model.roles_[k]),
                Cell(f"{mean[k]:.0%}", mean[k]),
                Cell(f"{model.unseen_weights_[k]:.0%}", model.unseen_weights_[k]),
                Cell(seconds(took["folds"]), took["folds"]),
            ]
        )
    columns = [
        ("candidate", ""),
        ("role", ""),
        ("mean weight", "number"),
        ("new tasks", "number"),
        ("time of its folds", "number"),
    ]
    dropped = [
        tag("li", f"{name}: {why}") for name, why in sorted(model.dropped_.items())
    ]
    return Section(
        "candidates",
        "What is in it?",
        join(
            table(columns, rows, caption="Candidates by weight", sortable=True),
            [
                tag("h3", "Left out"),
                tag("ul", dropped),
            ]
            if dropped
            else None,
        ),
    )


def _coverage(model: Any) -> Section:
    found = model.coverage(level=_LEVEL)
    unseen = model.coverage(level=_LEVEL, unseen=True)
    is_classes = hasattr(model, "classes_")
    shapes = "sets" if is_classes else "intervals"
    order = [int(t) for t in np.argsort(found.coverage) if found.n_rows[t] > 0]
    shown, left_out = both_ends(order, _MOST_TASKS)
    columns = [
        ("task", ""),
        ("rows", "number"),
        ("covered", "number"),
        ("95% interval", "number"),
    ]
    if not is_classes:
        columns.append(("width", "number"))
    rows = [
        [
            task_label(found.tasks[t]),
            Cell(f"{found.n_rows[t]:g}", found.n_rows[t]),
            Cell(f"{found.coverage[t]:.0%}", found.coverage[t]),
            f"{found.low[t]:.0%} to {found.high[t]:.0%}",
            *([] if is_classes else [Cell(_short(found.size[t]), found.size[t])]),
        ]
        for t in shown
    ]
    new = None
    if unseen.n_rows.any():
        new = f"Of rows of new tasks, {unseen.mean_of_tasks:.0%} in the mean of tasks."
        if not is_classes and np.isinf(unseen.size).all():
            new = (
                f"Rows of new tasks have endless {shapes}: {len(unseen.tasks)} tasks "
                "are too few for the level."
            )
    return Section(
        "coverage",
        f"Do its {shapes} hold the truth?",
        join(
            paragraph(
                f"At level {_LEVEL:g}, {found.overall:.0%} of the rows are covered, "
                "out of fold.",
                new,
            ),
            table(
                columns,
                rows,
                caption=f"Coverage by task{left_out}",
                css="dense",
                sortable=True,
            ),
        ),
    )


def _calibration(model: Any) -> Section:
    found = model.calibration()
    some = np.flatnonzero(found.n_rows > 0)
    off = [
        int(t)
        for t in some
        if found.low[t] > found.predicted[t] or found.high[t] < found.predicted[t]
    ]
    mean = found.what == "mean"
    shown, left_out = both_ends(
        sorted(some.tolist(), key=lambda t: found.observed[t] - found.predicted[t]),
        _MOST_TASKS,
    )
    rows = [
        [
            task_label(found.tasks[t]),
            Cell(_short(found.predicted[t]), found.predicted[t]),
            Cell(_short(found.observed[t]), found.observed[t]),
            f"{_short(found.low[t])} to {_short(found.high[t])}",
        ]
        for t in shown
    ]
    columns = [("task", ""), ("predicted", "number"), ("observed", "number"),
               ("95% interval", "number")]  # fmt: skip
    across = "mean prediction" if mean else f"mean {found.what}"
    upwards = "mean target" if mean else "fraction of rows"
    caption = join(
        f"A point for each task: {across} to the right, {upwards} upwards, out of "
        "fold. On the line they are equal. Point at one for its name."
    )
    n_off = f"{len(off)} of {len(some)} tasks"
    verdict = (
        f"The {upwards} of each task is as predicted, as far as its rows can tell."
        if not off
        else join(
            f"In {n_off} the {upwards} is off, beyond an interval of 95%: ",
            [
                part
                for t in off[:_MOST_NAMES]
                for part in (", ", task_label(found.tasks[t]))
            ][1:],
            f" and {len(off) - _MOST_NAMES} more" if len(off) > _MOST_NAMES else "",
            ". By chance it would be one task in twenty.",
        )
    )
    return Section(
        "calibration",
        "Is it right in the mean of each task?",
        join(
            paragraph(verdict),
            figure(
                _scatter(found, some, set(off), across, upwards),
                caption=caption,
            ),
            details(
                "The numbers behind the chart",
                table(columns, rows, caption=f"Calibration by task{left_out}",
                      css="dense", sortable=True),
            ),
        ),
    )  # fmt: skip


def _scatter(
    found: TaskCalibration, some: np.ndarray, off: set[int], across: str, upwards: str
) -> Html:
    x, y = found.predicted[some], found.observed[some]
    low = float(min(x.min(), y.min()))
    span = float(max(x.max(), y.max())) - low or 1.0
    pad = 12.0

    def place(value: float) -> float:
        return pad + (float(value) - low) / span * (_SIDE - 2 * pad)

    points = [
        tag(
            "circle",
            tag("title", f"{task_text(found.tasks[t])}: {_short(a)}, {_short(b)}"),
            cx=place(a),
            cy=_SIDE - place(b),
            r=3.5,
            fill="var(--hurt)" if t in off else "var(--helped)",
            fill_opacity="0.75",
        )
        for a, b, t in zip(x, y, some.tolist(), strict=True)
    ]
    ends = [
        tag("text", _short(low), x=pad, y=_SIDE + 16, class_="tick"),
        tag("text", _short(low + span), x=_SIDE - pad, y=_SIDE + 16, class_="tick end"),
        tag("text", _short(low), x=-6, y=_SIDE - pad + 4, class_="tick end"),
        tag("text", _short(low + span), x=-6, y=pad + 4, class_="tick end"),
        tag("text", across, x=_SIDE / 2, y=_SIDE + 32, class_="axis-name middle"),
        tag("text", upwards, class_="axis-name middle",
            transform=f"translate(-{_LEFT - 14} {_SIDE / 2:g}) rotate(-90)"),
    ]  # fmt: skip
    line = tag("line", x1=pad, y1=_SIDE - pad, x2=_SIDE - pad, y2=pad, class_="base")
    frame = tag("rect", x=0.5, y=0.5, width=_SIDE - 1, height=_SIDE - 1, fill="none",
                class_="grid")  # fmt: skip
    return tag(
        "svg",
        tag("title", "Mean predictions and mean targets of the tasks"),
        frame,
        line,
        points,
        ends,
        viewBox=f"-{_LEFT} 0 {_SIDE + _LEFT + 1} {_SIDE + 38}",
        width=_SIDE + _LEFT + 1,
        height=_SIDE + 38,
        role="img",
        class_="picture",
    )


def _about(model: Any, about: Mapping[str, Any]) -> Section:
    known: list[tuple[str, Any]] = [("Class", type(model).__name__)]
    for key in ("model", "kind", "target", "task", "rows", "settings", "file"):
        if about.get(key):
            value = about[key]
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            shown = f"{shown:,}" if isinstance(shown, int) else shown
            known.append((key.capitalize(), str(shown)))
    if hasattr(model, "classes_"):
        known.append(("Classes", _listed(model.classes_.tolist())))
    if hasattr(model, "feature_names_"):
        known.append(("Features", _listed(np.asarray(model.feature_names_).tolist())))
    took = sum(t["folds"] + t["rows"] for t in getattr(model, "seconds_", {}).values())
    if took:
        known.append(("Time of the candidates", seconds(took)))
    params = model.get_params(deep=False)
    pairs = [
        tag("li", f"{name} = {str(value)[:200]}") for name, value in params.items()
    ]
    known.append(("Parameters", tag("ul", pairs, class_="pairs")))
    return Section("about", "What was fitted?", terms(known))


def _listed(values: Iterable[Any], limit: int = 30) -> str:
    names = [str(value)[:80] for value in values]
    more = f", and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
