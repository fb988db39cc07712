"""The top of the page and the leaderboard: results by model."""

from collections.abc import Mapping
from typing import Any

from kinlearn.report._result import VERDICTS, plain
from kinlearn.report.page._charts import Strips
from kinlearn.report.page._html import (
    Cell,
    Html,
    Reading,
    Section,
    css_name,
    details,
    figure,
    join,
    marker,
    p_value,
    paragraph,
    seconds,
    table,
    tag,
    task_label,
    terms,
)
from kinlearn.report.page._svg import Scale, padded

__all__ = ["leaderboard", "top"]

_FORMS = {
    "alone": "a model of its own for each task; nothing is shared.",
    "pooled": "one model for all tasks, which does not see the task.",
    "task as feature": "one model for all tasks, with the task as one more column.",
    "multi-task": "a model that learns how much each task takes from the others.",
}
# a table of every contender on every task has no use beyond these
_SCORE_TASKS, _SCORE_CONTENDERS = 150, 12
_LONGEST_WARNING = 500


def top(reading: Reading) -> Html:
    """The verdict, what it means, and the figures that it rests on."""
    data, numbers = reading.data, reading.numbers
    about = data["data"]
    facts = [
        f"{about['n_rows']:,} rows",
        f"{about['n_tasks']:,} {'task' if about['n_tasks'] == 1 else 'tasks'}",
        join("task: ", task_label(about["task_name"])),
        join("target: ", task_label(about["target_name"]))
        if about["target_name"] is not None
        else None,
        f"measured by {numbers.label}, {numbers.better}",
    ]
    lede, more = data["verdict"]["details"][:2], data["verdict"]["details"][2:]
    return tag(
        "header",
        tag("p", "Does sharing help?", class_="kicker"),
        tag("h1", data["verdict"]["sentence"]),
        [tag("p", sentence, class_="lede") for sentence in lede],
        tag("ul", [tag("li", sentence) for sentence in more], class_="more-details")
        if more
        else None,
        _figures(reading),
        tag("ul", [tag("li", fact) for fact in facts if fact], class_="facts"),
    )


def _figures(reading: Reading) -> Html | None:
    data, numbers = reading.data, reading.numbers
    head = data["headline"]
    tiles = []
    if head and head["macro_sharing"] is not None and head["macro_alone"] is not None:
        interval = None
        if head["low"] is not None:
            interval = (
                f"gain {numbers.gain(head['gain'])}, {reading.interval} "
                f"{numbers.gain(head['low'])} to {numbers.gain(head['high'])}"
            )
        tiles.append(
            _tile(
                f"Mean {numbers.label} of the tasks",
                join(
                    _labelled("alone", numbers.score(head["macro_alone"])),
                    tag("span", "→", class_="arrow", aria_hidden="true"),
                    _labelled("sharing", numbers.score(head["macro_sharing"])),
                ),
                interval,
            )
        )
    counts = {kind: _count(data, kind) for kind in VERDICTS}
    shown = [kind for kind in VERDICTS if counts[kind] or kind in ("helped", "hurt")]
    if any(counts.values()):
        tiles.append(
            _tile(
                "Tasks",
                join(
                    tag("span", marker(kind), tag("b", f"{counts[kind]:,}"), f" {kind}",
                        class_=f"count {css_name(kind)}")
                    for kind in shown
                ),
                _proportions(counts),
            )
        )  # fmt: skip
    return tag("div", tiles, class_="tiles") if tiles else None


def _tile(title: str, content: Html, below: str | None) -> Html:
    return tag(
        "div",
        tag("p", title, class_="tile-title"),
        tag("p", content, class_="tile-figure"),
        below if below is None or below.startswith("<") else tag("p", below),
        class_="tile",
    )


def _labelled(word: str, figure: str) -> Html:
    return tag("span", tag("b", figure), tag("small", word), class_="pair")


def _count(data: Mapping[str, Any], kind: str) -> int:
    return sum(gain["verdict"] == kind for gain in data["gains"])


def _proportions(counts: dict[str, int]) -> Html:
    """A bar that is as full of each verdict as the tasks are."""
    total = sum(counts.values())
    bars, x = [], 0.0
    for kind, count in counts.items():
        width = 100 * count / total
        if count:
            bars.append(
                tag("rect", x=f"{x:.2f}%", width=f"{width:.2f}%", height="100%",
                    class_=f"share {css_name(kind)}")
            )  # fmt: skip
        x += width
    return tag("svg", bars, class_="proportions", aria_hidden="true")


def leaderboard(reading: Reading) -> Section:
    """The contenders that ended, best first."""
    data, numbers = reading.data, reading.numbers
    ended = [c for c in data["contenders"] if c["macro"] is not None]
    if not ended:
        body = paragraph("No contender has a score, so there is nothing to rank.")
        return Section("models", "Which model does best", body)
    ended.sort(key=lambda c: -c["macro"])
    intervals = [
        (c["macro"] - (c["macro_se"] or 0.0), c["macro"] + (c["macro_se"] or 0.0))
        for c in ended
    ]
    limits = padded([end for interval in intervals for end in interval])
    strips = Strips(Scale(*limits), "models", sign=numbers.sign, at_most=3)
    columns = [
        ("Model", "model"),
        ("How it shares", "form"),
        (f"Mean {numbers.label} of tasks", "number score"),
        (join("± one standard error", strips.axis()), "chart"),
        ("Over all rows", "number labelled"),
        ("Mean rank", "number labelled"),
        ("Fit time", "number labelled"),
    ]
    rows = [
        _row(place, contender, interval, reading, strips)
        for place, (contender, interval) in enumerate(
            zip(ended, intervals, strict=True), start=1
        )
    ]
    return Section(
        "models",
        "Which model does best",
        join(
            paragraph(
                "All contenders were fitted and scored on the same folds "
                f"({reading.folds(' folds')}). In the mean of tasks every task counts "
                "alike; over all rows, large tasks count more."
            ),
            figure(
                strips.grid(),
                table(
                    columns,
                    rows,
                    caption="Contenders, best first",
                    css="strips board",
                    sortable=True,
                ),
                caption=(
                    "How to read it: the further right the marker, the better the "
                    "model. Bars that overlap widely are models that may well be "
                    "equally good."
                ),
            ),
            _selection_note(reading),
            _test_note(data),
            _forms(ended),
            _score_table(reading, ended),
            _warnings(ended),
        ),
    )


def _row(
    place: int,
    contender: dict[str, Any],
    interval: tuple[float, float],
    reading: Reading,
    strips: Strips,
) -> list[Any]:
    numbers, head = reading.numbers, reading.data["headline"] or {}
    labels = [
        tag("span", word, class_="label")
        for role, word in (("sharing", "sharing pick"), ("alone", "alone pick"))
        if head.get(role) == contender["name"]
    ]
    kind = "series-0" if contender["shares"] else "series-3"
    return [
        Cell(join(tag("span", contender["name"]), [(" ", label) for label in labels]),
             place),
        contender["form"],
        Cell(
            join(
                tag("b", numbers.score(contender["macro"])),
                tag("small", f" ± {numbers.spread(contender['macro_se'])}")
                if contender["macro_se"] is not None
                else None,
            ),
            contender["macro"],
        ),
        Cell(strips.strip(contender["macro"], *interval, kind), contender["macro"]),
        Cell(numbers.score(contender["micro"]), contender["micro"]),
        Cell(plain(contender["mean_rank"], 1), contender["mean_rank"]),
        Cell(seconds(contender["fit_seconds"]), contender["fit_seconds"]),
    ]  # fmt: skip


def _selection_note(reading: Reading) -> Html | None:
    head, numbers = reading.data["headline"], reading.numbers
    if not head or head["gain"] is None:
        return None
    naive, promised = None, numbers.gain(head["naive_gain"])
    if head["naive_gain"] is not None and promised != numbers.gain(head["gain"]):
        naive = (
            "Choosing and scoring on the same folds would have promised "
            f"{promised} instead of {numbers.gain(head['gain'])}."
        )
    return paragraph(
        "The figures at the top of this page are free of selection bias: in each fold "
        "the two models that are compared were chosen by the other folds. "
        "The picks in the table are those that were chosen most often.",
        naive,
    )


def _test_note(data: Mapping[str, Any]) -> Html | None:
    overall = data["overall"] or {}
    sentences = []
    if overall.get("friedman_p") is not None:
        p = overall["friedman_p"]
        word = "more than" if p < 0.05 else "no more than"
        sentences.append(
            f"Over tasks, the contenders' ranks differ {word} chance explains "
            f"(Friedman's test, {overall['n_tasks']:,} tasks, {p_value(p)})."
        )
    if overall.get("wilcoxon_p") is not None:
        p = overall["wilcoxon_p"]
        word = "is unlikely to be" if p < 0.05 else "may be"
        sentences.append(
            "The difference between the best sharing and the best non-sharing model "
            f"{word} chance (Wilcoxon's test over tasks, {p_value(p)})."
        )
    return paragraph(*sentences)


def _forms(contenders: list[dict[str, Any]]) -> Html:
    seen = {contender["form"] for contender in contenders}
    shown = [(form, meaning) for form, meaning in _FORMS.items() if form in seen]
    return details("What the ways to share mean", terms(shown))


def _warnings(contenders: list[dict[str, Any]]) -> Html | None:
    found = [
        (c["name"], [tag("dd", text[:_LONGEST_WARNING]) for text in c["warnings"]])
        for c in contenders
        if c.get("warnings")
    ]
    if not found:
        return None
    return details(f"Warnings of {len(found)} models", terms(found, "terms stacked"))


def _score_table(reading: Reading, contenders: list[dict[str, Any]]) -> Html | None:
    """Every contender on every task, if that is a table that one can read."""
    data, numbers = reading.data, reading.numbers
    score = {(s["contender"], s["task"]): s["mean"] for s in data["scores"]}
    tasks = [task for task in data["tasks"] if task["scored"]]
    if not tasks:
        return None
    shown, listed = contenders[:_SCORE_CONTENDERS], tasks[:_SCORE_TASKS]
    rows = []
    for task in listed:
        found = [score.get((c["name"], task["task"])) for c in shown]
        best = max((value for value in found if value is not None), default=None)
        rows.append(
            [
                task_label(task["task"]),
                Cell(f"{task['n_rows']:,}", task["n_rows"]),
                *(
                    Cell(_best(numbers.score(value), value, best), value)
                    for value in found
                ),
            ]
        )
    note = ""
    if len(listed) < len(tasks) or len(shown) < len(contenders):
        note = (
            f"; the first {len(listed)} of {len(tasks):,} tasks and the best "
            f"{len(shown)} of {len(contenders)} models (all numbers: see the end of "
            "the page)"
        )
    return details(
        "Every model on every task",
        table(
            [
                ("Task", ""),
                ("Rows", "number"),
                *((contender["name"], "number") for contender in shown),
            ],
            rows,
            caption=f"{numbers.label} by task, ★ is the best of its row{note}",
            css="dense",
            sortable=True,
        ),
    )


def _best(text: str, value: float | None, best: float | None) -> str:
    if value is None or value != best:
        return text
    return tag("b", "★ ", text)
