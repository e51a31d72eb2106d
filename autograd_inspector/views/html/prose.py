"""Sentences of findings on a page: what stands between backticks is code."""

from __future__ import annotations

from autograd_inspector.views.display_text import shown
from autograd_inspector.views.markup import LINE_BREAK, Markup, element, together

LONGEST = 2000
"""Characters of one sentence."""


def prose(text: str, longest: int = LONGEST) -> Markup:
    """A sentence; a backtick without its partner stays one."""
    pieces = shown(text, longest).split("`")
    if len(pieces) % 2 == 0:
        pieces[-2:] = ["`".join(pieces[-2:])]
    return together(*[element("code", piece) if number % 2 else piece for number, piece in enumerate(pieces)])


def paragraphs(text: str) -> Markup:
    """Sentences line by line: a line break is the one control character that a fix may keep."""
    first, *others = [prose(line) for line in text.strip()[: 2 * LONGEST].split("\n")]
    return together(first, *[piece for line in others for piece in (LINE_BREAK, line)])
