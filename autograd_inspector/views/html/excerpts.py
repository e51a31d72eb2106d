"""Lines of the program on a page, as the editor numbers them; told apart without any style sheet."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.excerpt import CodeLine, Excerpt
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.markup import LINE_END, Markup, code, element, prose, together

POINTER = "▶"
"""Beside the line to look at first."""
_GAP = "⋮"
_ROLE = 160
"""Of a line: inside of its element and last there, for a style sheet may make a block of that."""


def lines_of(text: str, class_: str = "") -> Markup:
    """Text as it stands, line by line. No line is blank: in Markdown that would end the HTML around it."""
    lines = [together(code(shown(line, 4000)) or element("span"), LINE_END) for line in text.rstrip().split("\n")]
    return element("pre", *lines, **({"class_": class_} if class_ else {}))


def code_block(excerpt: Excerpt) -> Markup:
    """The lines with their numbers; what happened there stands behind each."""
    width = max((len(str(line.lineno)) for line in excerpt.lines), default=1)
    return element("pre", *_lines(excerpt, width), class_="ags-code")


def _lines(excerpt: Excerpt, width: int) -> Iterator[Markup]:
    before = 0
    for line in excerpt.lines:
        if before and line.lineno > before + 1:
            yield _row("ags-gap", f"{_GAP:>{width + 2}}", LINE_END)
        before = line.lineno
        pointer = POINTER if line.culprit else " "
        kind = "ags-line ags-culprit" if line.culprit else "ags-line ags-part" if line.role else "ags-line"
        words = ["  ← ", prose(shown(line.role, _ROLE)), LINE_END]
        role = [element("span", *words, class_="ags-role")] if line.role else [LINE_END]
        yield _row(kind, f"{pointer} {line.lineno:>{width}}", "  ", _text(line), *role)


def _row(kind: str, number: str, *pieces: str) -> Markup:
    return element("span", element("span", number, class_="ags-number"), *pieces, class_=kind)


def _text(line: CodeLine) -> Markup:
    text = line.text.rstrip()
    return element("strong", marked(text, line.expression)) if line.culprit else code(text)


def marked(text: str, expression: str) -> Markup:
    """The line, with the expression that ran marked where that is not all of it."""
    before, found, after = text.partition(expression or "\0")
    if not found or not (before.strip() or after.strip()):
        return code(shown(text, 400))
    return together(code(before, text), element("mark", code(found, text)), code(after, text))
