"""What notebooks show of fitted Kin estimators and of comparisons."""

from typing import TYPE_CHECKING, Any

from kinlearn.report._result import NO_NUMBER, Numbers, result_dict, sorted_gains
from kinlearn.report.displays import both_ends
from kinlearn.report.page._html import Html, details, join, seconds, tag, task_label
from kinlearn.report.page._sections_card import (
    parts_key,
    score_name,
    sharing_bar,
    sharing_order,
)

if TYPE_CHECKING:
    from kinlearn.audit import SharingResult

__all__ = ["model_fragment", "result_fragment", "with_diagram"]

_MOST_TASKS, _MOST_MODELS = 20, 12
# It stands in pages of others: its own names only, and the page's own colours.
_STYLE = Html(
    "<style>.kinlearn{font-size:14px;line-height:1.45;max-width:52em}"
    ".kinlearn table{border-collapse:collapse;margin:.4em 0}"
    ".kinlearn th,.kinlearn td{text-align:left;padding:.15em .8em .15em 0;"
    "border-bottom:1px solid rgba(128,128,128,.3);vertical-align:middle}"
    ".kinlearn td+td{font-variant-numeric:tabular-nums}"
    ".kinlearn p{margin:.4em 0}.kinlearn summary{cursor:pointer}"
    ".kinlearn-parameters>details>summary{font-size:14px;cursor:pointer}</style>"
)


def _table(titles: list[str], rows: list[list[Any]]) -> Html:
    head = tag("tr", [tag("th", title, scope="col") for title in titles])
    body = [tag("tr", [tag("td", cell) for cell in row]) for row in rows]
    return tag("table", tag("thead", head), tag("tbody", body))


def _figure(value: float | None) -> str:
    return NO_NUMBER if value is None or value != value else f"{value:.3f}"


def model_fragment(model: Any) -> str:
    """Who shares how much, scores, dropped candidates and seconds of a fitted Kin."""
    label = score_name(model)
    label = label[:1].upper() + label[1:]
    took = sum(t["folds"] + t["rows"] for t in model.seconds_.values())
    losses = ""
    if getattr(model, "seen_log_loss_", None) is not None:
        losses = f", log loss {_figure(model.seen_log_loss_)}"
    shown, left_out = both_ends(sharing_order(model), _MOST_TASKS)
    tasks = [
        [task_label(t), sharing_bar(model.sharing_[t], 160), _own(model, t)]
        for t in shown
    ]
    weights = model.weights_.mean(axis=0)
    models = [
        [str(model.candidates_[k]), f"{weights[k]:.0%}", seconds(_folds(model, k))]
        for k in sorted(range(len(weights)), key=lambda k: -weights[k])
    ]
    dropped = [tag("li", f"{name}: {why}") for name, why in model.dropped_.items()]
    return tag(
        "div",
        _STYLE,
        tag(
            "p",
            tag("b", type(model).__name__),
            f": {len(model.tasks_):,} tasks, {len(models)} candidates, "
            f"{seconds(took)}. ",
            f"{label} out of fold {_figure(model.seen_score_)}{losses}; on new tasks "
            f"{_figure(model.unseen_score_)}.",
        ),
        parts_key(model),
        _table(["task", "where predictions come from", "own"], tasks),
        tag("p", left_out.strip()) if left_out else None,
        details(
            "Candidates",
            _table(["candidate", "mean weight", "time of its folds"], models),
        ),
        details(f"Left out ({len(dropped)})", tag("ul", dropped)) if dropped else None,
        class_="kinlearn",
    )


def _own(model: Any, task: Any) -> str:
    return f"{model.sharing_[task]['own']:.0%}"


def _folds(model: Any, k: int) -> float:
    return model.seconds_[str(model.candidates_[k])]["folds"]


def result_fragment(result: "SharingResult") -> str:
    """The verdict, the leaderboard and the gains of a comparison."""
    data = result_dict(result)
    numbers = Numbers.of(data)
    board = [
        [
            contender["name"],
            numbers.score(contender["macro"])
            if contender["error"] is None
            else f"failed: {contender['error'][:80]}",
        ]
        for contender in data["contenders"][:_MOST_MODELS]
    ]
    more = len(data["contenders"]) - len(board)
    gains, left_out = both_ends(sorted_gains(data), _MOST_TASKS)
    by_task = [
        [
            task_label(gain["task"]),
            numbers.score(gain["alone"]),
            numbers.score(gain["sharing"]),
            numbers.gain(gain["gain"]),
            gain["verdict"],
        ]
        for gain in gains
    ]
    return tag(
        "div",
        _STYLE,
        tag("p", tag("b", data["verdict"]["sentence"])),
        _table(["model", f"{numbers.label}, mean of tasks"], board),
        tag("p", f"and {more} more") if more > 0 else None,
        details(
            "Gains by task",
            _table(["task", "alone", "sharing", "gain", "verdict"], by_task),
            tag("p", left_out.strip()) if left_out else None,
        )
        if by_task
        else None,
        class_="kinlearn",
    )


def with_diagram(fragment: str, diagram: str) -> str:
    """A fragment, and scikit-learn's own diagram of the estimator below it."""
    below = details("Parameters", Html(diagram))
    return join(Html(fragment), tag("div", below, class_="kinlearn-parameters"))
