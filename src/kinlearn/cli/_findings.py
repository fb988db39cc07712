"""What a Kin estimator found out while it was fitted, for people and as data."""

import math
from typing import Any

__all__ = ["findings", "in_words"]

_MOST_GROUPS, _MOST_NAMES = 5, 4  # that a line names


def findings(model: Any) -> dict[str, Any]:
    """What it found.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    dict
        Scores, sharing by task, groups of like tasks and candidates that were left
        out; empty for a model that is no Kin estimator.
    """
    if not hasattr(model, "sharing_"):
        return {}
    names = ("seen_score", "unseen_score", "seen_log_loss", "unseen_log_loss")
    scores = {name: getattr(model, f"{name}_", None) for name in names}
    known = {
        name: None if score is None or math.isnan(score) else score
        for name, score in scores.items()
    }
    scoring = model.scoring
    if callable(scoring):
        scoring = getattr(scoring, "__name__", type(scoring).__name__)
    sharing = {str(task): parts for task, parts in model.sharing_.items()}
    groups = model.task_groups_
    if groups is not None:
        groups = {str(task): group for task, group in groups.items()}
    return {
        "scoring": scoring,
        **known,
        "sharing": sharing,
        "groups": groups,
        "dropped": dict(model.dropped_),
    }


def _scores(found: dict[str, Any], kind: str) -> str:
    """The score, and the log loss beside it, of classes."""
    loss = found[f"{kind}_log_loss"]
    return f"{found[f'{kind}_score']:.2f}" + (
        "" if loss is None else f", log loss {loss:.2f}"
    )


def in_words(found: dict[str, Any], *, kind: str | None, task: str) -> list[str]:
    """The same for people.

    Parameters
    ----------
    found : dict
        As `findings` gives it.
    kind : {"classification", "regression"}
        What is predicted.
    task : str
        Name of the task column.

    Returns
    -------
    list of str
        A line each.
    """
    if not found:
        return []
    lines = []
    if found["seen_score"] is not None:
        name = "Accuracy" if kind == "classification" else "R2"
        line = f"{found['scoring'] or name} on rows that it had not seen: "
        line += _scores(found, "seen")
        if found["unseen_score"] is not None:
            line += f"; where the {task} is new: {_scores(found, 'unseen')}"
        lines.append(f"{line}.")
    tasks = found["sharing"].values()
    own, pooled, shared = (
        f"{sum(parts[role] for parts in tasks) / len(tasks):.0%}"
        for role in ("own", "pooled", "shared")
    )
    lines.append(
        f"Where predictions come from, in the mean of the tasks: {own} own models, "
        f"{pooled} pooled ones, {shared} models that share."
    )
    lines += _line_of_groups(found["groups"])
    reasons: dict[str, list] = {}
    for name, reason in found["dropped"].items():
        reasons.setdefault(reason, []).append(name)
    lines += [f"Left out: {'; '.join(n)} ({why})." for why, n in reasons.items()]
    return lines


def _line_of_groups(groups: dict[str, int] | None) -> list[str]:
    """The groups of like tasks, the largest first; nothing if there are no such."""
    if not groups or len(set(groups.values())) in (1, len(groups)):
        return []
    members: dict[int, list] = {}
    for task, group in groups.items():
        members.setdefault(group, []).append(task)
    several = sorted(members.values(), key=len, reverse=True)
    alone = [names[0] for names in several if len(names) == 1]
    groups_of_many = [_some(names, _MOST_NAMES) for names in several if len(names) > 1]
    line = f"Like each other: {_some(groups_of_many, _MOST_GROUPS, '; ', ' groups')}"
    return [f"{line}; like none: {_some(alone, _MOST_NAMES)}." if alone else f"{line}."]


def _some(names: list[str], most: int, between: str = ", ", what: str = "") -> str:
    """The first names, and how many more there are."""
    more = len(names) - most
    text = between.join(names[:most])
    return f"{text} and {more} more{what}" if more > 0 else text
