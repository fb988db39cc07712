"""The verdict in plain sentences.

"We cannot tell" is not "no difference": the words helped, hurt, raises and
lowers appear only where a test is significant.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kinlearn.audit.statistics._scores import PoolingGain, TaskGain
from kinlearn.audit.statistics._selection import Headline

__all__ = ["Verdict", "figures", "listing", "percent", "plural", "standing", "verdict"]


@dataclass(frozen=True)
class Verdict:
    """What to report first.

    - `sentence`: One sentence; two at most.
    - `details`: Sentences about what it rests on.
    """

    sentence: str
    details: list[str]


def verdict(
    headline: Headline,
    gains: Sequence[TaskGain],
    metric: dict[str, Any],
    task_name: str,
    pooling: Sequence[PoolingGain] = (),
    *,
    without: tuple[Sequence[str], Headline] | None = None,
    remarks: Sequence[str] = (),
) -> Verdict:
    """Put the audit's findings into words."""
    story = _Story(headline, gains, metric, task_name)
    details = story.details(pooling, without)
    return Verdict(story.sentence(), [*details, *remarks])


def standing(headline: Headline, metric: dict[str, Any], task_name: str) -> str:
    """The scores so far, while contenders are still to come: no verdict yet."""
    story = _Story(headline, headline.gains, metric, task_name)
    if headline.reason is not None or not story.n:
        return f"{story.mean} is not known yet.".capitalize()
    tasks = f"{story.n} {story.tasks(story.n)}"
    alone, sharing = story.values
    return f"Mean {story.label} over {tasks} is {alone} alone and {sharing} sharing."


class _Story:
    """The parts of the sentences; all that differs by case is here once."""

    def __init__(
        self,
        headline: Headline,
        gains: Sequence[TaskGain],
        metric: dict[str, Any],
        task_name: str,
    ) -> None:
        self.headline = headline
        self.label = metric["label"]
        self.sign = 1 if metric["greater_is_better"] else -1
        self.task_name = task_name
        self.n_all = len(gains)
        by_verdict = {
            word: [gain for gain in gains if gain.verdict == word]
            for word in ("helped", "hurt", "unclear", "not scored")
        }
        # Those who are concerned most come first.
        self.helped = sorted(by_verdict["helped"], key=lambda gain: -gain.gain)
        self.hurt = sorted(by_verdict["hurt"], key=lambda gain: gain.gain)
        self.unclear = by_verdict["unclear"]
        self.few = [
            gain for gain in self.unclear if (gain.reason or "").startswith("too few")
        ]
        self.unscored = by_verdict["not scored"]
        self.n = self.n_all - len(self.unscored)

    def sentence(self) -> str:
        """The verdict."""
        if self.n_all == 1:
            return (
                f"There is only one {self.tasks(1)}, so there is nothing to share "
                "and nothing to compare."
            )
        if self.headline.reason is not None or self.n == 0:
            reason = self.headline.reason or f"no {self.tasks(1)} could be scored"
            return f"We cannot say whether sharing helps: {reason}."
        if self.n == 1:
            return self.sentence_of_one()
        if not self.helped and not self.hurt:
            return self.sentence_of_none()
        counts = self.counts()
        if self.direction == 0:
            return (
                f"Sharing {' and '.join(counts)}; what it does to {self.mean} we "
                f"cannot tell ({self.both})."
            )
        return f"Sharing {', '.join(counts)}, and {self.change}."

    def sentence_of_one(self) -> str:
        """One task has scores: the mean over tasks is that task."""
        (only,) = (*self.helped, *self.hurt, *self.unclear)
        start = f"Only 1 of {self.n_all} {self.tasks(self.n_all)} has scores"
        if only.verdict == "unclear":
            end = f"we cannot tell whether sharing helps it ({self.both})"
        else:
            low, high = self.values
            verb = "helps" if only.verdict == "helped" else "hurts"
            end = f"sharing {verb} it ({self.label} {low} alone, {high} sharing)"
        return f"{start} ({only.task}): {end}."

    def sentence_of_none(self) -> str:
        """No task is helped or hurt for sure."""
        tasks = f"{self.n} {self.tasks(self.n)}"
        if self.direction != 0:
            return (
                f"Sharing {self.change} over {tasks}, but we cannot tell for any "
                f"single {self.tasks(1)} whether it is helped or hurt."
            )
        if self.headline.gain == 0:
            found = f"{self.mean} over {tasks} is {self.values[0]} either way"
        else:
            found = (
                f"{self.mean} over {tasks} is {self.values[0]} alone and "
                f"{self.values[1]} sharing, which may be chance"
            )
        return (
            f"We cannot tell whether sharing helps: {found}, and no single "
            f"{self.tasks(1)} is clearly helped or hurt."
        )

    def counts(self) -> list[str]:
        """``["helps 21 of 29 schools", "hurts 2 (7, 12)"]``, the larger first."""
        groups = [("helps", self.helped), ("hurts", self.hurt)]
        groups.sort(key=lambda group: -len(group[1]))
        words = []
        for verb, group in groups:
            if not group:
                words.append(f"{verb} none for sure")
                continue
            of_all = "" if words else f" of {self.n} {self.tasks(self.n)}"
            # Who is hurt has a name; the helped ones are named if they are few.
            named = verb == "hurts" or len(group) <= 2
            names = f" ({_names(group)})" if named else ""
            words.append(f"{verb} {len(group)}{of_all}{names}")
        return words

    @property
    def direction(self) -> int:
        """1 or -1 if the gain of the mean is off zero for sure, else 0."""
        if self.headline.low > 0:
            return 1
        return -1 if self.headline.high < 0 else 0

    @property
    def mean(self) -> str:
        return f"mean {self.label}"

    @property
    def values(self) -> list[str]:
        """Mean alone and mean sharing, as text with their natural sign."""
        pair = (self.headline.macro_alone, self.headline.macro_sharing)
        return figures(*(self.sign * value for value in pair))

    @property
    def both(self) -> str:
        alone, sharing = self.values
        return f"{alone} alone, {sharing} sharing"

    @property
    def change(self) -> str:
        """``raises mean AUC from 0.74 to 0.78``, for better or worse."""
        alone, sharing = self.values
        verb = "raises" if self.direction * self.sign > 0 else "lowers"
        better = "" if self.sign > 0 else " (lower is better)"
        if alone == sharing:
            return f"{verb} {self.mean} of {alone} by a trace{better}"
        return f"{verb} {self.mean} from {alone} to {sharing}{better}"

    def tasks(self, n: int) -> str:
        return plural(self.task_name, n)

    def details(
        self,
        pooling: Sequence[PoolingGain],
        without: tuple[Sequence[str], Headline] | None,
    ) -> list[str]:
        """What the verdict rests on, one sentence each."""
        found: list[str] = []
        if self.headline.reason is None and self.n > 0 and self.n_all > 1:
            found += self.what_was_compared()
            if without is not None and without[1].reason is None:
                found.append(self.without(*without))
            found += self.by_task()
        if self.unscored and self.n > 0:
            n = len(self.unscored)
            whose = "its" if n == 1 else "their"
            found.append(
                f"{n} {self.tasks(n)} could not be scored ({_names(self.unscored)}); "
                f"{whose} rows still train the models that share."
            )
        found += [self.pooled(gain) for gain in pooling if gain.hurt]
        return found

    def what_was_compared(self) -> Iterator[str]:
        """The models, the interval, and what naming the winner would add."""
        headline: Any = self.headline
        n = headline.n_folds
        sharing, alone = (
            f"{name!r} (chosen in {headline.how_often.get(name, 0)} of {n} "
            f"{'fold' if n == 1 else 'folds'})"
            for name in (headline.sharing, headline.alone)
        )
        yield f"Sharing is {sharing}; alone is {alone}. No fold scores its own choice."
        yield from self.leaderboard()
        level = percent(headline.level)
        if math.isnan(headline.low):
            yield (
                f"There is no interval for the change in {self.mean}: rows are too "
                "few, or all folds score alike."
            )
            return
        ends = sorted(self.sign * end for end in (headline.low, headline.high))
        low, high = figures(*ends)
        yield f"Sharing changes {self.mean} by {low} to {high} ({level} interval)."

    def leaderboard(self) -> Iterator[str]:
        """Why the chosen model's place among all may be better than the figures."""
        headline = self.headline
        values = (headline.macro_alone, headline.macro_sharing, headline.naive_sharing)
        if math.isnan(headline.naive_sharing):
            return
        _, here, there = figures(*(self.sign * value for value in values))
        if here != there:
            yield (
                f"On all folds {headline.sharing!r} has {there}, not {here}: there it "
                "is scored by the folds that chose it."
            )

    def without(self, names: Sequence[str], headline: Headline) -> str:
        """What sharing is worth without the contenders that combine models."""
        pair = (headline.macro_alone, headline.macro_sharing)
        alone, sharing = figures(*(self.sign * value for value in pair))
        whom = listing(map(repr, names))
        found = f"{self.mean} is {alone} alone and {sharing} sharing."
        if self.headline.sharing not in names:
            return f"Without {whom}, {found}"
        return (
            f"{whom} combines models, those of each {self.tasks(1)} alone among them, "
            f"so that not all of its gain need come from sharing. Without it, {found}"
        )

    def by_task(self) -> Iterator[str]:
        """Who is helped, hurt and left open."""
        if self.hurt:
            worst = self.hurt[0]
            yield (
                f"Hurt most: {worst.task}, whose {self.label} {self.move(worst)} by "
                f"{figures(abs(worst.gain))[0]}."
            )
        if len(self.hurt) > len(self.helped):
            yield (
                f"More {self.tasks(2)} are hurt than helped: fit them alone, or let "
                "only those share that are alike."
            )
        if len(self.helped) > 2:
            yield f"Helped: {_names(self.helped)}."
        n = len(self.unclear)
        if n and (self.helped or self.hurt):
            yield (
                f"For {n} {self.tasks(n)} we cannot tell, which does not mean that "
                "sharing makes no difference."
            )
        n = len(self.few)
        if n:
            have, whose = ("has", "its") if n == 1 else ("have", "their")
            yield (
                f"{n} of {self.n} {self.tasks(self.n)} {have} too few rows to tell "
                f"({_names(self.few)}); {whose} scores count in {self.mean}."
            )

    def move(self, gain: TaskGain) -> str:
        return "rises" if gain.gain * self.sign > 0 else "falls"

    def pooled(self, gain: PoolingGain) -> str:
        """Harm by one model for all."""
        helped = f" and helps {gain.n_helped}" if gain.n_helped else ""
        return (
            f"One {gain.family} model for all ({gain.pooled!r} against "
            f"{gain.alone!r}) hurts {len(gain.hurt)} of {gain.n_tasks} "
            f"{self.tasks(gain.n_tasks)} ({listing(gain.hurt)}){helped}."
        )


def _names(gains: Iterable[TaskGain]) -> str:
    return listing(gain.task for gain in gains)


def plural(noun: str, n: int) -> str:
    """A noun for `n` things; a column name that is no word becomes "task"."""
    noun = noun if noun.isalpha() else "task"
    lower = noun.lower()
    if n == 1 or (lower.endswith("s") and not lower.endswith("ss")):
        return noun
    if lower.endswith(("ss", "x", "z", "ch", "sh")):
        return f"{noun}es"
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def listing(values: Iterable[Any], most: int = 6) -> str:
    """Comma-separated, at most `most` of them: ``7, 12 and 3 more``."""
    values = list(values)
    # "and 1 more" is as long as the name itself.
    if len(values) > most + 1:
        return f"{', '.join(map(str, values[:most]))} and {len(values) - most} more"
    return ", ".join(map(str, values))


def percent(level: float) -> str:
    """A level in percent: ``95%``."""
    return f"{100 * level:.6g}%"


def figures(*values: float) -> list[str]:
    """Numbers with as many digits as it takes to see that they differ."""
    largest = max(abs(value) for value in values)
    if largest == 0:
        return ["0"] * len(values)
    place = math.floor(math.log10(largest))
    spread = max(values) - min(values)
    digits = 2
    if spread > 0:
        step = math.floor(math.log10(spread))
        # A difference of 0.012 needs two digits to differ from 0.02.
        digits = place - step + (2 if spread < 3 * 10.0**step else 1)
    digits = min(max(digits, 2), 5)
    decimals = max(digits - 1 - place, 0)
    form = f".{digits - 1}e" if decimals > 7 else f".{decimals}f"
    return [format(round(value, decimals + 5) + 0.0, form) for value in values]
