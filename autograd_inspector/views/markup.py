"""The only place that escapes: everything that reaches a page or a label goes through here."""

from __future__ import annotations

import html

from autograd_inspector.views.code_breaks import unbroken
from autograd_inspector.views.display_text import shown

_NARROW = 32
"""What has room beside line numbers on a phone, in columns."""
_MAY_BREAK = "<wbr/>"


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def escaped(child: str) -> Markup:
    """A program's text made harmless; markup stays as it is."""
    if isinstance(child, Markup):
        return child
    return Markup(html.escape(shown(child, longest=4000), quote=True))


def element(tag: str, *children: str, **attributes: str) -> Markup:
    """``<tag attribute="...">children</tag>``; a trailing underscore of an attribute's name is dropped."""
    inside = "".join(f' {name.rstrip("_")}="{escaped(value)}"' for name, value in attributes.items())
    return Markup(f"<{tag}{inside}>{''.join(map(escaped, children))}</{tag}>")


def image(**attributes: str) -> Markup:
    """``<img attribute="..."/>``."""
    return Markup(element("img", **attributes).replace("></img>", "/>"))


def together(*children: str) -> Markup:
    """Several pieces after one another."""
    return Markup("".join(map(escaped, children)))


def prose(text: str) -> Markup:
    """A sentence in which `code` stands between backticks; one without its twin stays as it is."""
    if isinstance(text, Markup):
        return text
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = ["`".join(parts[-2:])]
    return together(*(element("code", part) if number % 2 else part for number, part in enumerate(parts)))


def code(line: str, within: str = "") -> Markup:
    """A line of source, or a part of one; a long line may go on below where that splits no name."""
    if isinstance(line, Markup) or max(len(line), len(within)) <= _NARROW:
        return escaped(line)
    return Markup(_MAY_BREAK.join(map(escaped, unbroken(line))))


LINE_BREAK = Markup("<br/>")
LINE_END = Markup("\n")
"""The end of a line in a `<pre>`: in a program's text it would be shown as an escape."""
