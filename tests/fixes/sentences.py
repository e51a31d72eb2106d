"""The sentences that rules and advice can put into a finding, read from the source: literals that begin like one.

What a sentence leaves open (``{name}``) matches anything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[2] / "autograd_inspector"
ROOMS: Final = ("rules", "advice")
_OPEN = re.compile(r"\\{\w*\\}")
_BEGINS = re.compile(r"[`{}\w.]*[A-Z]")


def written() -> dict[str, re.Pattern[str]]:
    """Sentence, with the file that has it -> what it looks like where it is printed."""
    return {
        f"{path.relative_to(PACKAGE).as_posix()}: {text}": re.compile(_OPEN.sub(".*?", re.escape(text)), re.DOTALL)
        for room in ROOMS
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for text in _sentences(ast.parse(path.read_text(encoding="utf-8")))
    }


def _sentences(tree: ast.Module) -> Iterator[str]:
    aside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    aside |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        text = _text(node) if id(node) not in aside else ""
        if " " in text.strip() and (text[0].isupper() or _fix_of_a_name(text) or text.rstrip().endswith(".")):
            yield text


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in values)
    return ""


def _fix_of_a_name(text: str) -> bool:
    return text.startswith("`{}` ")
