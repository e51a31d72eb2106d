"""What users read is plain, modern English: no turn of phrase that one has to read twice."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE, FRONT_END, PAGES = ROOT / "autograd_inspector", ROOT / "labextension" / "src", ROOT / "notebooks" / "docs"

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
    "British spelling": r"\blearnt\b|misspelt|(initial|(re)?normal|optim|quant|recogn)is(e|ed|es|ing|ation)\b",
    "the very": r"\bthe very\b",
    "asked for": r"\b(was|were|is|are) asked for\b|\basked for here\b",
    "to learn": r"\b(is|are|was|were|has|have) to learn\b|\bwhat (should|learns)\b",
    "a round of a loop": r"\b(each|every|next|earlier|previous|later) rounds?\b|\bround to round\b|\bof the round\b",
    "the step before": r"\bthe (step|update|round|run) before(?! it)\b",
    "ways alone": r"\bways alone\b",
    "one and the same": r"\bone and the same\b",
    "what goes in": r"\bwhat(ever)? (goes|went) in\b",
    "takes for": r"\b(take|takes|taken) for\b",
    "read off": r"\bread off\b",
    "lies behind": r"\b(lies|lie|comes|come) behind\b",
    "history of a tensor": r"\b(no|its|their|old) history\b",
    "looked at": r"\blook(ed|s)? (at|into)\b",
    "otherwise than": r"\botherwise than\b",
    "goes on": r"\b(go|goes|went|going) on\b",
    "Where for if": r"(^|[.:;] )Where (it (?!happened)|the|two|no|both|they|its|a|one|torch|several)\b",
    "is to flow": r"\b(is|are|was|were) to (go|flow|use|leave|move|be|have|run)\b",
    "a column a rank": r"\ba column a\b|\ba line each\b|\bnot once a\b",
    "not told": r"\bnot told\b|\bis told\b|\btold without\b",
    "handed to": r"\bhands? (it|them|the|on)\b",
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


def page(path: Path) -> list[str]:
    """The page of a rule: the docstring of its ``check``, without its examples."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checks = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    return [re.sub(r"::\n\n(?: {12,}.*\n|\n)+", "\n", ast.get_docstring(check, clean=False) or "") for check in checks]


def prose(path: Path) -> list[str]:
    """The paragraphs of a page of the site, of README or of a tutorial, without code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    text = re.sub(r"^(```+).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    return re.split(r"\n\s*\n", re.sub(r"`[^`\n]*`", "`code`", text))


def strings(path: Path) -> list[str]:
    """The literals of a TypeScript file that hold more than one word."""
    text = re.sub(r"^\s*(//|\*|/\*).*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [found for found in re.findall(r'"([^"\n]*)"', text) if " " in found.strip()]


@cache
def written() -> dict[Path, list[str]]:
    """All that the package, the front end, README, the site and the tutorials may show."""
    read = {path: sentences(path) for path in PACKAGE.rglob("*.py")}
    for path in (PACKAGE / "rules").rglob("*.py"):
        read[path] = [*read[path], *page(path)]
    read |= {path: prose(path) for path in (ROOT / "README.md", *PAGES.rglob("*.md"), *PAGES.parent.glob("*.ipynb"))}
    return read | {path: strings(path) for path in FRONT_END.rglob("*.ts")}


@pytest.mark.parametrize("banned", BANNED)
def test_sentences_are_plain(banned):
    """No text of the package, the front end, README, the site or a tutorial uses the phrase; comments may."""
    assert sum(map(len, written().values())) > 1000
    used = [
        f"{path.name}: {text}" for path, texts in written().items() for text in texts if re.search(BANNED[banned], text)
    ]
    assert used == []
