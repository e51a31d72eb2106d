"""The picture as an image inside a page: nothing in it can run, and a viewer that drops it leaves none of its words."""

from __future__ import annotations

import base64
import re

from autograd_inspector.views.markup import Markup, image
from autograd_inspector.views.picture.palette import PAPER, dark_rules

_LEFT_OUT = re.compile(
    r'<!--.*?-->\s*|<style>.*?</style>|<title>.*?</title>\s*|<g id="a_[^"]*"><a [^>]*>\s*|</a>\s*</g>\s*'
    r'| (?:font-family|id|class|role|aria-label)="[^"]*"| text-anchor="start"',
    re.DOTALL,
)
"""What an image does not show: comments, tooltips, names of groups."""
_TAG = re.compile("<[^>]*>")
_DIGITS = re.compile(r"(\.\d)\d+")
_SIZE = re.compile(r'<svg[^>]*? width="(\d+)pt" height="(\d+)pt"')
_PIXELS = 4 / 3
"""CSS pixels of a point."""


def image_of(svg: str) -> Markup:
    """An ``<img>`` with the SVG itself as its address; its colours follow the ``color-scheme`` around it."""
    small = _TAG.sub(_rounded, _LEFT_OUT.sub("", svg))
    # The page is the paper.
    small = small.replace(f'<polygon fill="{PAPER}" stroke="transparent"', '<polygon fill="none"', 1)
    used = set(re.findall(r'(?:fill|stroke)="(#\w+)"', small))
    rules = f"@media (prefers-color-scheme: dark){{{dark_rules('', used)}}}"
    style = f"<style>text{{font-family:Helvetica,Arial,sans-serif}}{rules}</style>"
    small = small.replace(">", f">{style}", 1)
    found = _SIZE.search(svg)
    size = {"width": _pixels(found[1]), "height": _pixels(found[2])} if found else {}
    address = f"data:image/svg+xml;base64,{base64.b64encode(small.encode()).decode()}"
    return image(src=Markup(address), alt="autograd graph", class_="ags-picture", **size)


def _rounded(tag: re.Match[str]) -> str:
    """Coordinates to a tenth of a point."""
    return _DIGITS.sub(r"\1", tag[0]).replace(".0 ", " ").replace(".0,", ",").replace('.0"', '"')


def _pixels(points: str) -> str:
    return str(round(int(points) * _PIXELS))
