"""What pictures and page read of an audit, and how numbers and names are written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinlearn.relatedness import TaskDistances
from kinlearn.utils import visible

if TYPE_CHECKING:
    from kinlearn.audit import SharingResult

__all__ = [
    "NO_NUMBER",
    "VERDICTS",
    "Numbers",
    "as_matrix",
    "cluster_order",
    "plain",
    "result_dict",
    "short_names",
    "shorten",
    "signed",
    "sorted_gains",
]

NO_NUMBER = "\N{EN DASH}"
_MINUS = "\N{MINUS SIGN}"  # as wide as the plus
_FORMAT = "kinlearn-sharing/2"
# In the order in which they are listed
VERDICTS = ("helped", "hurt", "unclear", "not scored")


def result_dict(result: "SharingResult | Mapping[str, Any]") -> Mapping[str, Any]:
    """The plain dict of a result, checked to be one."""
    found = result.to_dict() if hasattr(result, "to_dict") else result
    if not isinstance(found, Mapping):
        raise TypeError(
            "Pass what compare_sharing() returned, or its to_dict(); got "
            f"{type(result).__name__}."
        )
    if found.get("format") != _FORMAT:
        raise ValueError(
            f"This is not a result of compare_sharing(): its 'format' is "
            f"{found.get('format')!r}, {_FORMAT!r} is needed. A result of another "
            "version of kinlearn must be drawn by that version."
        )
    return found


def sorted_gains(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The gains of the scored tasks, greatest first, ties in the given order."""
    scored = [gain for gain in data["gains"] if gain["gain"] is not None]
    return sorted(scored, key=lambda gain: -gain["gain"])


@dataclass(frozen=True)
class Numbers:
    """How a result's scores are written.

    The result holds every score so that greater is better; errors are turned
    back here, and nowhere else.
    """

    label: str
    sign: int
    decimals: int

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """As the contenders' scores of a result need it."""
        metric = data["metric"]
        macros = [c["macro"] for c in data["contenders"] if c["macro"] is not None]
        largest = max(map(abs, macros), default=1.0) or 1.0
        # 0.781, but 12.34 and 1235: a digit more where the unit is arbitrary
        digits = 3 if largest <= 1 else 4
        decimals = int(np.clip(digits - np.ceil(np.log10(largest)), 0, 8))
        sign = 1 if metric["greater_is_better"] else -1
        return cls(metric["label"], sign, decimals)

    @property
    def better(self) -> str:
        """Which way is better, in words."""
        return "higher is better" if self.sign > 0 else "lower is better"

    def shown(self, value: float | None) -> float | None:
        """A score as people know it: an error is positive."""
        return None if value is None else self.sign * value

    def score(self, value: float | None) -> str:
        """A score in words."""
        return plain(self.shown(value), self.decimals)

    def spread(self, value: float | None) -> str:
        """A standard error in words."""
        return plain(value, self.decimals)

    def gain(self, value: float | None) -> str:
        """A gain in words, with its sign; positive is better, also of errors."""
        return signed(value, self.decimals)

    @property
    def gain_label(self) -> str:
        """What a gain is."""
        return f"{self.label} {self.won}"

    @property
    def won(self) -> str:
        """What happens to the metric when it gets better."""
        return "gained" if self.sign > 0 else "saved"


def plain(value: float | None, decimals: int) -> str:
    """A number with so many decimals; a dash where there is none."""
    if value is None:
        return NO_NUMBER
    written = f"{value:,.{decimals}f}"
    zero = not written.strip("-0.,")
    return written.lstrip("-") if zero else written.replace("-", _MINUS)


def signed(value: float | None, decimals: int) -> str:
    """The same with a sign, unless it is zero as written."""
    written = plain(value, decimals)
    positive = value is not None and value > 0 and written.strip("0.,")
    return f"+{written}" if positive else written


def shorten(name: Any, limit: int = 24) -> str:
    """A label that leaves space for the picture."""
    name = visible(str(name))
    return name if len(name) <= limit else name[: limit - 1] + "…"


def short_names(names: Iterable[Any], limit: int = 24) -> list[str]:
    """Labels that leave space for the picture, and that differ where the names do."""
    texts = [visible(str(name)) for name in names]
    labels = {text: shorten(text, limit) for text in texts}
    head = limit // 3
    tail = limit - head - 1
    for group in _alike(labels):
        # where they differ, with as much of what goes before as fits
        alike = [len(set(letters)) == 1 for letters in zip(*group, strict=False)]
        differ = [*alike, False].index(False)
        start = max(head, min(differ - 2, max(map(len, group)) - tail))
        for text in group:
            labels[text] = f"{text[:head]}…{shorten(text[start:], tail)}"
    for group in _alike(labels):
        labels.update(zip(group, group, strict=True))
    return [labels[text] for text in texts]


def _alike(labels: dict[str, str]) -> list[list[str]]:
    """Groups of texts that have the same label."""
    groups: dict = {}
    for text, label in labels.items():
        groups.setdefault(label, []).append(text)
    return [group for group in groups.values() if len(group) > 1]


def as_matrix(matrix: Any) -> np.ndarray:
    """A result's matrix as an array; what is not known there (None) is NaN."""
    return np.array(matrix, dtype=np.float64).reshape(len(matrix), -1)


def cluster_order(values: np.ndarray, *, affinity: bool) -> np.ndarray:
    """Order of an average-linkage clustering."""
    apart = -values if affinity else values
    apart = (apart + apart.T) / 2
    between = ~np.eye(len(apart), dtype=bool)
    known = apart[between & np.isfinite(apart)]
    if not known.size:
        return np.arange(len(apart))
    # what is not known is neither near nor far
    apart = np.where(np.isfinite(apart), apart, known.mean()) - known.min()
    np.fill_diagonal(apart, 0.0)
    names = np.arange(len(apart))
    return TaskDistances(np.maximum(apart, 0.0), names, method="order").order()
