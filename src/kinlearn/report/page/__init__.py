"""The page: one HTML file that holds everything it needs."""

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from kinlearn import __version__
from kinlearn.report._result import result_dict
from kinlearn.report.page._fragments import (
    model_fragment,
    result_fragment,
    with_diagram,
)
from kinlearn.report.page._html import Html, Reading, Section, join, tag
from kinlearn.report.page._sections_card import card_sections, card_top
from kinlearn.report.page._sections_models import leaderboard, top
from kinlearn.report.page._sections_related import affinity, distances, rows_per_task
from kinlearn.report.page._sections_run import failed, what_was_run, winner
from kinlearn.report.page._sections_tasks import gains, suspects, unscored
from kinlearn.report.page._svg import marker_definitions
from kinlearn.utils import replacing

if TYPE_CHECKING:
    from kinlearn.audit import SharingResult

__all__ = [
    "make_page",
    "model_fragment",
    "result_fragment",
    "with_diagram",
    "write_card",
    "write_page",
]

_SECTIONS = (
    suspects,
    leaderboard,
    gains,
    affinity,
    distances,
    rows_per_task,
    winner,
    failed,
    unscored,
    what_was_run,
)


def write_page(
    result: "SharingResult | Mapping[str, Any]", path: str | PathLike[str]
) -> Path:
    """Write the page of an audit: one HTML file that opens without a network.

    The verdict stands on top in a sentence; below it the leaderboard, who gains and
    who loses, which tasks are alike, how many rows sharing pays for, what was run,
    and how to get the winner. The file is small, holds its style and charts, and
    reads well on a phone, on paper, in the dark and by a screen reader.

    Parameters
    ----------
    result : SharingResult or dict
        What :func:`kinlearn.audit.compare_sharing` gave, or its ``to_dict()``.
    path : str or path-like
        The file. One that is there is replaced, and only when the new one is
        complete. Its folder must be there.

    Returns
    -------
    pathlib.Path
        The file, as an absolute path.

    See Also
    --------
    PerTaskGainDisplay : The same chart of gains in matplotlib.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kinlearn.audit import compare_sharing
    >>> from kinlearn.datasets import load_demo
    >>> from kinlearn.report import write_page
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_demo(as_frame=True, return_X_y=True)
    >>> result = compare_sharing(
    ...     X,
    ...     y,
    ...     task="clinic",
    ...     estimators={"logistic": LogisticRegression(max_iter=5000)},
    ...     n_repeats=1,
    ...     curve=False,
    ... )
    >>> with TemporaryDirectory() as folder:
    ...     page = write_page(result, Path(folder) / "clinics.html")
    ...     result.verdict in page.read_text(encoding="utf-8")
    True
    """
    return _write(make_page(result), path)


def write_card(
    model: Any,
    path: str | PathLike[str],
    *,
    about: Mapping[str, Any] | None = None,
) -> Path:
    """Write a model card: one HTML file on a fitted model.

    Of Kin estimators it shows the scores out of fold on known and new tasks, who
    shares how much, the candidates with their weights and times, the coverage of
    intervals or sets and the calibration by task; of the conformal wrappers the last
    two; of any model what was fitted. It needs no network.

    Parameters
    ----------
    model : estimator
        Fitted.
    path : str or path-like
        The file. One that is there is replaced, and only when the new one is
        complete. Its folder must be there.
    about : mapping, default=None
        What the model does not know itself: ``model`` (its name), ``kind``,
        ``target``, ``task``, ``rows``, ``settings`` and ``file``.

    Returns
    -------
    pathlib.Path
        The file, as an absolute path.

    See Also
    --------
    write_page : The page of a comparison.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kinlearn import KinRegressor
    >>> from kinlearn.datasets import load_demo
    >>> from kinlearn.report import write_card
    >>> X, y = load_demo("regression", as_frame=True, return_X_y=True)
    >>> model = KinRegressor(task="clinic", families=["linear"], random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     card = write_card(model.fit(X, y), Path(folder) / "card.html")
    ...     "Who shares how much?" in card.read_text(encoding="utf-8")
    True
    """
    check_is_fitted(model)
    about = dict(about or {})
    if about.get("task") is None and getattr(model, "task", None) is not None:
        about["task"] = model.task
    sections = card_sections(model, about)
    title = f"Model card: {about.get('model') or type(model).__name__}"
    return _write(_document(title, card_top(model, about), sections, __version__), path)


def _write(text: str, path: str | PathLike[str]) -> Path:
    page = text.encode("utf-8", errors="replace")
    path = Path(path).expanduser().absolute()
    if path.is_dir():
        raise IsADirectoryError(
            f"{path} is a folder. Name a file, such as {path}/page.html."
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {path.parent} for the page. Make it, or write "
            "elsewhere."
        )
    try:
        with replacing(path) as partial:
            partial.write_bytes(page)
    except OSError as error:
        raise type(error)(
            f"The page cannot be written to {path}: {error.strerror or error}. "
            "Write it elsewhere."
        ) from error
    return path


def make_page(result: "SharingResult | Mapping[str, Any]") -> str:
    """The page's text; see :func:`write_page`."""
    reading = Reading(result_dict(result))
    made = [make(reading) for make in _SECTIONS]
    sections = [section for section in made if section is not None]
    versions = reading.data["run"]["versions"] or {}
    title = f"Does sharing help? {reading.data['verdict']['sentence']}"
    return _document(title, top(reading), sections, versions.get("kinlearn", ""))


def _document(title: str, header: Html, sections: list[Section], version: str) -> str:
    here = files("kinlearn.report.page")
    script = here.joinpath("page.js").read_text(encoding="utf-8")
    style = here.joinpath("page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The browser itself may fetch nothing and run this script only.
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content="kinlearn"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", Html(style)),
    )
    links = [tag("li", tag("a", s.title, href=f"#{s.key}")) for s in sections]
    body = tag(
        "body",
        tag("a", "Skip to the report", href="#report", class_="skip"),
        marker_definitions(),
        tag(
            "div",
            tag("nav", tag("ol", links), aria_label="Contents"),
            tag(
                "main",
                header,
                [
                    tag(
                        "section",
                        tag("h2", section.title, id=f"{section.key}-title"),
                        section.body,
                        id=section.key,
                        aria_labelledby=f"{section.key}-title",
                    )
                    for section in sections
                ],
                tag(
                    "footer",
                    tag("p", f"Made by kinlearn {version}"),
                ),
                id="report",
            ),
            class_="sheet",
        ),
        tag("script", Html(script)),
    )
    document = tag("html", head, body, lang="en")
    return join(Html("<!doctype html>\n"), document, "\n")
