"""The sentences that rules and advice can put into a finding, read from the source.

A sentence is a literal that begins with a capital letter, or with the program's code, and ends with a full stop, or the
beginning of one. What it leaves open (``{name}``) matches anything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[2] / "autograd_inspector"
ROOMS: Final = ("rules", "advice")
_OPEN = re.compile(r"\{\w*\}")


@cache
def written() -> dict[str, tuple[str, ...]]:
    """File and sentence -> the parts of the sentence that are always the same, in their order."""
    return {
        f"{path.relative_to(PACKAGE).as_posix()}: {text}": tuple(filter(None, _OPEN.split(text)))
        for room in ROOMS
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for text in _sentences(ast.parse(path.read_text(encoding="utf-8")))
    }


def stands_in(parts: tuple[str, ...], text: str) -> bool:
    """Whether they all stand in a text, in their order."""
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _sentences(tree: ast.Module) -> Iterator[str]:
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in whole for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        text = _text(node) if id(node) not in documented | parts else ""
        if " " in text.strip() and (text[0].isupper() or text.rstrip().endswith(".")):
            yield text


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in values)
    return ""
