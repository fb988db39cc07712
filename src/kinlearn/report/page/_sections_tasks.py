"""Results by task: who gains, who loses, who was not scored."""

from typing import Any

from kinlearn.report._result import VERDICTS, Numbers, plain, sorted_gains
from kinlearn.report.page._charts import Strips, gain_overview
from kinlearn.report.page._html import (
    Cell,
    Html,
    Reading,
    Section,
    css_name,
    figure,
    join,
    marker,
    marker_key,
    names,
    numbers_behind,
    paragraph,
    table,
    tag,
    task_label,
)
from kinlearn.report.page._svg import Scale, gain_limits

__all__ = ["gains", "suspects", "unscored"]

_CHART_TASKS = 40  # more are shown at a glance, with names at both ends only
_END_TASKS = 15
_TABLE_TASKS = 300
_LISTED = 60
_TOO_FEW = "too few"  # how such a reason begins

_MEANING = {
    "helped": "Sharing is better for them, beyond chance.",
    "hurt": "Sharing is worse for them, beyond chance: keep a model of their own.",
    "unclear": "We cannot tell. That is not the same as no difference.",
}


def gains(reading: Reading) -> Section:
    """Who gains and who loses, task by task."""
    found = sorted_gains(reading.data)
    title = "Who gains and who loses"
    if not found:
        body = paragraph(
            "No task could be scored with and without sharing, so no gain is known."
        )
        return Section("tasks", title, body)
    head, numbers = reading.data["headline"] or {}, reading.numbers
    what = (
        f"A task's gain is its {numbers.label} with sharing minus that alone"
        if numbers.sign > 0
        else f"A task's gain is the {numbers.label} that sharing saves it"
    )
    who = (
        ", in each fold of the models that the other folds chose, mostly "
        f"{head['sharing']} and {head['alone']}."
        if head.get("sharing") and head.get("alone")
        else "."
    )
    tested = sum(gain["p"] is not None for gain in found)
    few = sum((gain["reason"] or "").startswith(_TOO_FEW) for gain in found)
    without = (
        f"{few:,} {'task has' if few == 1 else 'tasks have'} too few rows to tell: "
        "such a task has scores, which count in the mean of the tasks, and no interval."
        if few
        else None
    )
    return Section(
        "tasks",
        title,
        join(
            paragraph(
                what + who,
                "A task counts as helped or hurt only where that stays clear after "
                f"correcting for having tested {tested:,} "
                f"{'task' if tested == 1 else 'tasks'} (Holm's method); so an "
                "interval may exclude zero and the task still be unclear.",
                without,
            ),
            _overview(found, reading),
            _chart(found, reading),
            _lists(found),
            _numbers(found, numbers),
        ),
    )


def _overview(found: list[dict[str, Any]], reading: Reading) -> Html | None:
    if len(found) <= _CHART_TASKS:
        return None
    return figure(
        gain_overview(found, reading.numbers),
        caption=(
            f"How to read it: one upright bar per task, with its {reading.interval}. "
            "Above the line at zero sharing did better, below it worse; rings are "
            "unclear. The tasks at both ends follow by name."
        ),
    )


def _chart(found: list[dict[str, Any]], reading: Reading) -> Html:
    numbers = reading.numbers
    ends = len(found) > _CHART_TASKS
    shown = [*found[:_END_TASKS], *found[-_END_TASKS:]] if ends else found
    strips = Strips(Scale(*gain_limits(shown)), "gains", zero=True)
    rows: list[Any] = [
        [
            Cell(task_label(gain["task"]), place),
            Cell(f"{gain['n_rows']:,}", gain["n_rows"]),
            Cell(numbers.score(gain["alone"]), gain["alone"]),
            Cell(numbers.score(gain["sharing"]), gain["sharing"]),
            Cell(
                strips.strip(gain["gain"], gain["low"], gain["high"], gain["verdict"]),
                gain["gain"],
            ),
            Cell(tag("b", numbers.gain(gain["gain"])), gain["gain"]),
            Cell(_verdict(gain), VERDICTS.index(gain["verdict"])),
        ]
        for place, gain in enumerate(shown, start=1)
    ]
    if ends:
        between = f"{len(found) - len(shown):,} tasks between these"
        rows.insert(_END_TASKS, tag("tr", tag("td", between, colspan=7), class_="gap"))
    columns = [
        ("Task", "task"),
        ("Rows", "number rows"),
        ("Alone", "number side"),
        ("Sharing", "number side"),
        (join(f"{numbers.gain_label}, {reading.interval}", strips.axis()), "chart"),
        (numbers.won.capitalize(), "number score"),
        ("Verdict", "verdict-column"),
    ]
    whose = f"The {_END_TASKS} tasks at each end" if ends else "All tasks"
    cut = any(
        (gain["low"] is not None and gain["low"] < strips.scale.low)
        or (gain["high"] is not None and gain["high"] > strips.scale.high)
        for gain in shown
    )
    return figure(
        strips.grid(),
        table(
            columns,
            rows,
            caption=f"{whose}, by gain",
            css="strips gains",
            sortable=not ends,
        ),
        caption=join(
            f"How to read it: {whose[0].lower()}{whose[1:]}, from the greatest gain "
            "to the smallest. Right of the line at zero sharing did better, left of "
            "it worse; the bar is where the true gain plausibly lies, and a marker "
            "without a bar has too few rows, or folds that are all alike. ",
            marker_key(),
            " An arrow means that the bar goes on." if cut else "",
        ),
    )  # fmt: skip


def _verdict(gain: dict[str, Any]) -> Html:
    kind, few = gain["verdict"], (gain["reason"] or "").startswith(_TOO_FEW)
    return tag(
        "span",
        marker(kind),
        join(kind, tag("small", ", too few rows")) if few else kind,
        class_=f"verdict {css_name(kind)}",
    )


def _p(value: float | None) -> str:
    return "<0.001" if value is not None and value < 0.001 else plain(value, 3)


def _lists(found: list[dict[str, Any]]) -> Html:
    groups = []
    for kind, meaning in _MEANING.items():
        tasks = [gain["task"] for gain in found if gain["verdict"] == kind]
        tasks = tasks[::-1] if kind == "hurt" else tasks
        groups.append(
            tag(
                "div",
                tag("h3", marker(kind), f"{kind.capitalize()}: {len(tasks):,}"),
                tag("p", meaning),
                names(tasks, _LISTED) if tasks else tag("p", "None.", class_="none"),
                class_=f"group {kind}",
            )
        )
    return tag("div", groups, class_="groups")


def _numbers(found: list[dict[str, Any]], numbers: Numbers) -> Html:
    half = _TABLE_TASKS // 2
    cut = len(found) > _TABLE_TASKS
    shown = [*found[:half], *found[-half:]] if cut else found
    rows = [
        [
            task_label(gain["task"]),
            Cell(f"{gain['n_rows']:,}", gain["n_rows"]),
            Cell(numbers.score(gain["alone"]), gain["alone"]),
            Cell(numbers.score(gain["sharing"]), gain["sharing"]),
            Cell(numbers.gain(gain["gain"]), gain["gain"]),
            Cell(numbers.gain(gain["low"]), gain["low"]),
            Cell(numbers.gain(gain["high"]), gain["high"]),
            Cell(_p(gain["p"]), gain["p"]),
            Cell(_p(gain["p_holm"]), gain["p_holm"]),
            gain["verdict"],
            gain["reason"] or "",
        ]
        for gain in shown
    ]
    note = (
        f"; the first and last {half} of {len(found):,} (all numbers: see the end of "
        "the page)"
        if cut
        else ""
    )
    columns = [
        ("Task", ""),
        ("Rows", "number"),
        ("Alone", "number"),
        ("Sharing", "number"),
        (numbers.won.capitalize(), "number"),
        ("From", "number"),
        ("To", "number"),
        ("p, this task", "number"),
        ("p, among all", "number"),
        ("Verdict", ""),
        ("Why no interval", ""),
    ]
    return numbers_behind(
        "chart", columns, rows, caption=f"Gains by task{note}", sortable=True
    )


def unscored(reading: Reading) -> Section | None:
    """Tasks that have no score, or none on some folds, by reason."""
    groups = []
    for scored, words in ((False, ""), (True, "Scored in part: ")):
        reasons: dict[str, list] = {}
        for task in reading.data["tasks"]:
            if task["scored"] is scored and (task["reason"] or not scored):
                reason = words + (task["reason"] or "no reason is known")
                reasons.setdefault(reason, []).append(task["task"])
        groups += [
            tag(
                "div", tag("h3", reason[:1].upper() + reason[1:]), names(tasks, _LISTED)
            )
            for reason, tasks in reasons.items()
        ]
    if not groups:
        return None
    return Section(
        "unscored",
        "Tasks without a full score",
        join(
            paragraph(
                "These tasks took part in training. Where they have no score, none of "
                "theirs enters this page."
            ),
            groups,
        ),
    )


_MOST = 20


def suspects(reading: Reading) -> Section | None:
    """Columns to look at before the result is believed."""
    found = reading.data.get("suspects", [])
    if not found:
        return None
    used = [entry for entry in found if not entry["left_out"]]
    gone = [entry for entry in found if entry["left_out"]]
    body: list[Any] = []
    if used:
        body.append(paragraph("These columns are used. If one of them is not known "
                               "when predictions are made, all scores below are too "
                               "good."))  # fmt: skip
        body.append(_listed([entry["sentence"] for entry in used]))
    if gone:
        body.append(paragraph("These columns were left out:"))
        body.append(_listed([f"{entry['column']}: {entry['why']}." for entry in gone]))
    title = "Look at these columns first" if used else "Columns that were left out"
    return Section("columns", title, join(*body))


def _listed(lines: list[str]) -> Html:
    more = len(lines) - _MOST
    rest = [f"and {more} more"] if more > 0 else []
    return tag("ul", [tag("li", line) for line in lines[:_MOST] + rest])
