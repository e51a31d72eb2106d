"""The style sheets of the static pages, and of outputs in notebooks."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from autograd_inspector.views.colours import PAGE
from autograd_inspector.views.markup import Markup

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_COLOUR = re.compile(r"\bcolour\(([\w-]+)\)")
_SPACE = re.compile(r"\s*\n\s*|(?<=[{};:]) +| +(?=[{}])")


@cache
def sheet(name: str) -> Markup:
    """A style sheet of this folder as it is written into a page: every output of a notebook has its own copy.

    ``colour(error)`` is that colour of the table, whatever the page around it looks like.
    """
    text = files("autograd_inspector.views.html").joinpath(name).read_text(encoding="utf-8")
    text = _COLOUR.sub(lambda found: PAGE[found[1]].either, text)
    return Markup(_SPACE.sub("", _COMMENT.sub("", text)).strip())
