"""What users read is plain, modern English: no turn of phrase that one has to read twice."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE, FRONT_END = ROOT / "autograd_inspector", ROOT / "labextension" / "src"

BANNED = {
    "is no X": r"(?<!there )\bis no (?!(longer|such)\b)\w",
    "has not": r"\bhas not\b(?! \w+(ed|n|t)\b)",
    "anew": r"\banew\b",
    "in vain": r"\bin vain\b",
    "of its own": r"\bof its own\b",
    "as it is then": r"\bas (it|they) (is|are|was|were) then\b",
    "what is meant to": r"\bwhat (is|are) meant to\b",
    "counts for": r"\bcounts for\b",
    "and its like": r"\band (its|their) like\b",
    "is told": r"\b(is|are|was|were) told\b",
    "a causal for": r", for (it|they|what|nothing)\b",
    "thaw": r"\bthaw",
    "of another kind": r"\bof another kind\b",
    "used up": r"\b(is|are|was|were|been) used up\b",
    "in force": r"\bin force\b",
    "in place of": r"\bin place of\b",
    "for good": r"\bfor good\b",
    "cut it off": r"\bcut(ting)? (it|them) off\b",
    "next to no": r"\bnext to no",
    "without a word": r"\bwithout a word\b",
    "without history": r"\bwithout history\b",
    "alike": r"\balike\b",
    "whoever": r"\b[Ww]hoever\b",
    "take off": r"\b[Tt]ake \S+ off\b",
    "has to flow": r"\bgradient has to flow (?!through)",
    "what comes": r"\bwhat (comes|stands)\b",
    "British spelling": r"\blearnt\b|(initial|renormal|optim|quant)is(e|ed|es|ing|ation)\b",
}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def sentences(path: Path) -> list[str]:
    """The pieces of text in a module that are neither docstrings nor single words."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, _DOCUMENTED) and node.body and isinstance(node.body[0], ast.Expr)
    }
    notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip()
        if id(node) not in documented | notes
    ]


def strings(path: Path) -> list[str]:
    """The literals of a TypeScript file that hold more than one word."""
    text = re.sub(r"^\s*(//|\*|/\*).*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [found for found in re.findall(r'"([^"\n]*)"', text) if " " in found.strip()]


@cache
def written() -> dict[Path, list[str]]:
    """All that the package and the front end may show."""
    read = {path: sentences(path) for path in PACKAGE.rglob("*.py")}
    return read | {path: strings(path) for path in FRONT_END.rglob("*.ts")}


@pytest.mark.parametrize("banned", BANNED)
def test_sentences_are_plain(banned):
    """No text of the package or of the front end uses the phrase; docstrings and comments may."""
    assert sum(map(len, written().values())) > 1000
    used = [
        f"{path.name}: {text}" for path, texts in written().items() for text in texts if re.search(BANNED[banned], text)
    ]
    assert used == []
