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
_LINE = 4_000
_DIGITS = re.compile(r"(\.\d)\d+")


def image_of(svg: str, said: str) -> Markup:
    """An ``<img>`` with the SVG itself as its address; its colours follow the ``color-scheme`` around it.

    A code host drops such an address: what is ``said`` of the picture stands there then, not a frame of its size. A
    browser leaves out the line breaks in an address; without them, docutils would refuse the page for its longest line.
    """
    small = _TAG.sub(_rounded, _LEFT_OUT.sub("", svg))
    # The page is the paper.
    small = small.replace(f'<polygon fill="{PAPER}" stroke="transparent"', '<polygon fill="none"', 1)
    used = set(re.findall(r'(?:fill|stroke)="(#\w+)"', small))
    rules = f"@media (prefers-color-scheme: dark){{{dark_rules('', used)}}}"
    style = f"<style>text{{font-family:Helvetica,Arial,sans-serif}}{rules}</style>"
    small = small.replace(">", f">{style}", 1)
    data = base64.b64encode(small.encode()).decode()
    lines = [data[at : at + _LINE] for at in range(0, len(data), _LINE)]
    address = "\n".join(["data:image/svg+xml;base64,", *lines])
    return image(src=Markup(address), alt=f"autograd graph: {said}", class_="ags-picture")


def _rounded(tag: re.Match[str]) -> str:
    """Coordinates to a tenth of a point."""
    return _DIGITS.sub(r"\1", tag[0]).replace(".0 ", " ").replace(".0,", ",").replace('.0"', '"')
