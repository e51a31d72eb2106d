"""The texts of a SARIF log: plain, and as Markdown without HTML."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from autograd_inspector.model.finding import Finding
from autograd_inspector.views.display_text import shown

_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~&!])")
_SECTION = re.compile(r"^(\w[\w ]*)\n(?=    )", re.MULTILINE)


def plain(text: str) -> str:
    """``{`` and ``}`` begin and end placeholders in every SARIF message: literal ones are doubled."""
    return text.replace("{", "{{").replace("}", "}}")


def markdown(text: str) -> str:
    """A sentence as Markdown that shows just that; code in single backticks stays code."""
    parts = text.split("`")
    if len(parts) % 2 == 0 or any(not code.strip() for code in parts[1::2]):
        return _MARKS.sub(r"\\\1", text)
    return "`".join(part if at % 2 else _MARKS.sub(r"\\\1", part) for at, part in enumerate(parts))


def fenced(code: str) -> str:
    """Code as a block that no backticks in it can end."""
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}python\n{code}\n{fence}"


def message_of(finding: Finding) -> dict[str, Any]:
    """What and why, where in a cell, the steps of the story, what to write instead."""
    message = shown(finding.message, 4000)
    sentence = message if message.endswith((".", "!", "?")) else f"{message}."
    cell = next((f"{shown(place.place, 200)}: " for place in finding.locations[:1] if place.cell is not None), "")
    details = [shown(detail, 1000) for detail in finding.details]
    fix = fix_of(finding)
    follows = [f"Follows from it: {shown(text, 400)}" for text in finding.consequences]
    text = [cell + sentence, *details, *([f"Fix: {fix}"] if fix else []), *follows]
    marked = [markdown(cell + sentence), *(f"- {markdown(each)}" for each in (*details, *follows))]
    marked += [f"**Fix:** {'  '.join(markdown(line) for line in fix.split(chr(10)))}"] if fix else []
    return {"text": plain("\n".join(text)), "markdown": plain("\n\n".join(marked))}


def fix_of(finding: Finding) -> str:
    """What to write instead, line by line."""
    return "\n".join(shown(line, 400) for line in finding.fix.strip().split("\n"))


def page_of(page: str) -> tuple[str, str]:
    """A rule's page as plain text and as Markdown: titled sections, their code fenced."""
    parts = _SECTION.split(page.strip())
    summary, marked = parts[0].strip(), [markdown(parts[0].strip())]
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        marked += [f"## {title}", _body(textwrap.dedent(body).strip())]
    rest = page.strip()[len(parts[0].rstrip()) :].strip("\n")
    return plain(f"{' '.join(summary.split())}\n\n{rest}"), plain("\n\n".join(marked))


def _body(text: str) -> str:
    """``::`` opens a block of code, up to the first line that is not indented."""
    prose, mark, code = text.partition("::\n")
    if not mark:
        return text
    block: list[str] = []
    after: list[str] = []
    for line in code.split("\n"):
        (after if after or (line and not line.startswith(" ")) else block).append(line)
    parts = [prose.strip(), fenced(textwrap.dedent("\n".join(block)).strip("\n")), _body("\n".join(after).strip())]
    return "\n\n".join(part for part in parts if part)
