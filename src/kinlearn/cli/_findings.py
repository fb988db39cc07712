"""What a Kin estimator found out while it was fitted, for people and as data."""

import math

__all__ = ["findings", "in_words"]


def findings(model):
    """What it found.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    dict
        Scores, sharing by task and candidates that were left out; empty for a model
        that is no Kin estimator.
    """
    if not hasattr(model, "sharing_"):
        return {}
    scores = {"seen_score": model.seen_score_, "unseen_score": model.unseen_score_}
    known = {
        name: None if score is None or math.isnan(score) else score
        for name, score in scores.items()
    }
    sharing = {str(task): parts for task, parts in model.sharing_.items()}
    return {**known, "sharing": sharing, "dropped": dict(model.dropped_)}


def in_words(found, *, kind, task):
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
        line = f"{name} on rows that it had not seen: {found['seen_score']:.2f}"
        if found["unseen_score"] is not None:
            line += f"; where the {task} is new: {found['unseen_score']:.2f}"
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
    reasons: dict[str, list] = {}
    for name, reason in found["dropped"].items():
        reasons.setdefault(reason, []).append(name)
    lines += [f"Left out: {'; '.join(n)} ({why})." for why, n in reasons.items()]
    return lines
