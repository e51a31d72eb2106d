"""DOT -> SVG and other pictures, through Graphviz's own program."""

from __future__ import annotations

import re
from pathlib import Path
from subprocess import CalledProcessError
from typing import cast

from graphviz import Digraph, ExecutableNotFound

from autograd_inspector.views.picture.palette import dark_rules
from autograd_inspector.views.whole import write_whole

_OPENING = re.compile(r"<svg[^>]*>")


class GraphvizMissingError(RuntimeError):
    """Graphviz's program `dot` is not installed, or not on the PATH."""


class DrawingError(RuntimeError):
    """Graphviz could not draw this."""


def svg_of(graph: Digraph) -> str:
    """One ``<svg>`` element: no prolog, the same text every time, with colours for dark pages."""
    text = _drawn(graph, "svg").decode()
    opening = _OPENING.search(text)
    if opening is None:
        raise DrawingError("autograd_inspector: Graphviz returned no picture")
    rules = dark_rules(".autograd-graph ")
    style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    tag = opening.group(0).replace("<svg", '<svg role="img" aria-label="autograd graph"', 1)
    return f"{tag}{style}{text[opening.end() :]}".strip() + "\n"


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
