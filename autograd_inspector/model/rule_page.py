"""A rule's page in its parts: each section's text, and which of it is code."""

from __future__ import annotations

import re
import textwrap

from msgspec import Struct

_SECTION = re.compile(r"\n\n(?=\S[^\n]*\n {4})")
_CODE = "::"


class Section(Struct, frozen=True, omit_defaults=True):
    """``Why it matters`` and its text; ``code``: an example, whose lines are to be kept."""

    text: str
    title: str = ""
    code: bool = False


class RulePage(Struct, frozen=True):
    """What a rule is about; the first section is its summary, and has no title."""

    rule: str
    sections: tuple[Section, ...]


def page_of(rule: str, text: str) -> RulePage:
    """The page in a rule's docstring: headings at the margin, what belongs to them indented."""
    summary, *parts = _SECTION.split(text)
    return RulePage(rule, (Section(_flowing(summary)), *map(_section, parts)))


def _section(part: str) -> Section:
    title, _, body = part.partition("\n")
    body = textwrap.dedent(body).strip("\n")
    if body.startswith(_CODE):
        return Section(textwrap.dedent(body.removeprefix(_CODE)).strip("\n"), title, code=True)
    return Section(_flowing(body), title)


def _flowing(text: str) -> str:
    return " ".join(text.split())
