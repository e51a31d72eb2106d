"""DOT -> SVG and other pictures, through Graphviz's own program."""

from __future__ import annotations

import re
from pathlib import Path
from subprocess import CalledProcessError
from typing import cast

from graphviz import Digraph, ExecutableNotFound

from autograd_inspector.views.picture.palette import CLUSTER, dark_rules
from autograd_inspector.views.whole import write_whole

_OPENING = re.compile(r"<svg[^>]*>")
_FRAME = re.compile(r'<g id="[^"]*" class="cluster.*?</g>\s*</g>', re.DOTALL)
_TEXT = re.compile(r"<text .*?</text>\n?", re.DOTALL)
_CLOSING = re.compile(r"</g>\s*</svg>\s*\Z")


class GraphvizMissingError(RuntimeError):
    """Graphviz's program `dot` is not installed, or not on the PATH."""


class DrawingError(RuntimeError):
    """Graphviz could not draw this."""


def svg_of(graph: Digraph) -> str:
    """One ``<svg>`` element: no prolog, the same text every time, with colours for dark pages."""
    text = _named_above(_drawn(graph, "svg").decode())
    opening = _OPENING.search(text)
    if opening is None:
        raise DrawingError("autograd_inspector: Graphviz returned no picture")
    rules = dark_rules(".autograd-graph ")
    style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    tag = opening.group(0).replace("<svg", '<svg role="img" aria-label="autograd graph"', 1)
    return f"{tag}{style}{text[opening.end() :]}".strip() + "\n"


def _named_above(svg: str) -> str:
    """Names of frames lie above the lines, with a rim in the frame's colour: `dot` draws lines across them."""
    names: list[str] = []

    def without_names(frame: re.Match[str]) -> str:
        names.extend(_TEXT.findall(frame[0]))
        return _TEXT.sub("", frame[0])

    rest = _FRAME.sub(without_names, svg)
    if not names:
        return svg
    rim = f'<g stroke="{CLUSTER}" stroke-width="3" stroke-linejoin="round" paint-order="stroke">'
    above = "".join([rim, "\n", *names, "</g>\n"])
    return _CLOSING.sub(lambda end: above + end[0], rest)


def render(graph: Digraph, path: Path) -> Path:
    """Write the picture to a file in the format of its suffix; returns the path."""
    kind = path.suffix.removeprefix(".") or "svg"
    write_whole(path, svg_of(graph) if path.suffix == ".svg" else _drawn(graph, kind))
    return path


def _drawn(graph: Digraph, kind: str) -> bytes:
    try:
        return cast("bytes", graph.pipe(format=kind, quiet=True))
    except ExecutableNotFound:
        raise GraphvizMissingError(
            "autograd_inspector: drawing needs Graphviz's program `dot` on the PATH "
            "(apt install graphviz, brew install graphviz or conda install graphviz)"
        ) from None
    except (CalledProcessError, ValueError) as error:
        raise DrawingError(f"autograd_inspector: Graphviz could not draw the graph: {error}") from error
