"""The text that a notebook keeps of a report: whole where it is short, for a notebook has many outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import shown

LONGEST = 20_000
"""Characters: some two hundred lines, all that is said of a dozen findings."""
_TITLES = 40
_ALL = "report.to_text() has all"


def kept_text(whole: Callable[[], str], short: Callable[[int], str] | None = None) -> str:
    """The whole text where it is short enough; else one whose findings take half of the room, cut between lines."""
    text = whole()
    if len(text) > LONGEST and short is not None:
        text = short(LONGEST // 2)
    if len(text) <= LONGEST:
        return text
    lines = text[: LONGEST - len(_ALL) - 40].split("\n")[:-1]
    more = text.count("\n") - len(lines)
    return "\n".join([*lines, "", f"… and {counted(more, 'line')} more: {_ALL}", ""])


def fitting(
    findings: Sequence[Finding], block: Callable[[int], Iterable[RenderableType]], size: Callable[..., int], room: int
) -> Iterator[RenderableType]:
    """The findings, most severe first, as long as there is ``room`` (characters); of the others a line each.

    ``block`` is all about the finding of that number, ``size`` how much text it takes.
    """
    for number in range(len(findings)):
        parts = list(block(number))
        room -= size(parts)
        if room < 0 < number:
            yield from _titles(findings[number:])
            return
        yield from parts


def _titles(findings: Sequence[Finding]) -> Iterator[RenderableType]:
    yield Text("")
    for finding in findings[:_TITLES]:
        place = finding.locations[0] if finding.locations else None
        line = "" if place is None else f"  {shown(place.place, 60)}  {shown(place.expression or place.source.strip())}"
        text = f"{finding.severity} {finding.rule} {shown(finding.name)}{line}"
        yield Group(Text(text, no_wrap=True, overflow="ellipsis"))  # of a text by itself rich forgets how it wraps
    untold = len(findings) - _TITLES
    more = f"{counted(untold, 'finding')} more, and more on these" if untold > 0 else "more on these"
    yield Text(f"… {more}: {_ALL}", "dim")
