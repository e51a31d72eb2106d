"""A page a rule, from the docstring that `autograd-inspect rule CODE` prints."""

from __future__ import annotations

from pathlib import Path

from autograd_inspector.model.rule_page import page_of
from autograd_inspector.rules import CATALOGUE
from autograd_inspector.rules.catalogue import Rule
from scripts.docs.markdown import block, code, escaped, table

TESTS = Path(__file__).resolve().parents[2] / "tests" / "rules"
GROUPS = {
    "AG1": "Gradients that are cut off, or flow where they should not",
    "AG2": "In-place writes and shared memory",
    "AG3": "Gradients that are missing, zero or wrong",
    "AG4": "Optimizers and their state",
    "AG5": "Freed, leaked and serialized graphs",
    "AG6": "Several ranks",
    "AG7": "Statistics over the steps",
}
"""First letters of a code -> what these rules are about; a group without a title is of other rules."""
OTHERS = "Other rules"


def rule_pages() -> dict[str, str]:
    """Path of the page -> its text; the index first."""
    pages = {"rules/index.md": _index()}
    return pages | {f"rules/{rule.code}.md": _page(rule) for _, rule in sorted(CATALOGUE.items())}


def _index() -> str:
    parts = ["# Rules\n", INTRODUCTION]
    for group in sorted({*GROUPS, *(code_[:3] for code_ in CATALOGUE)}):
        rules = [rule for code_, rule in sorted(CATALOGUE.items()) if code_.startswith(group)]
        rows = [(f"[{rule.code}]({rule.code}.md)", code(rule.name), escaped(rule.summary)) for rule in rules]
        parts.append(f"## {group}xx: {GROUPS.get(group, OTHERS)}\n\n{table(('code', 'name', 'what it finds'), rows)}")
    listed = "\n".join(sorted(CATALOGUE))
    parts.append(f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n")
    return "\n".join(parts)


INTRODUCTION = """\
A finding names its rule, `AG201 saved-tensor-modified`. Code and name are stable. **error**: the program raised, would
raise, or computes wrong gradients. **warning**: a trainable parameter does not learn, or optimizer state is misplaced.
**info**: worth seeing, often intended. A parameter is *trainable* if it requires grad **and** is in an optimizer that
the capture saw.

`autograd-inspect rule AG201` prints a page in the terminal, `--ignore AG406,AG1` drops findings by code, by a
prefix of a code, or by name.
"""


def _page(rule: Rule) -> str:
    parts = [f"# {rule.code} {rule.name}\n"]
    for section in page_of(rule.code, rule.page).sections:
        if section.title:
            parts.append(f"## {section.title}\n")
        parts.append(block("python", section.text) if section.code else f"{escaped(section.text)}\n")
    tests = sorted(path.name for path in TESTS.glob(f"test_*{rule.code.lower()}*.py"))
    if tests:
        parts.append("## Tests\n")
        parts.append(", ".join(f"`tests/rules/{name}`" for name in tests) + "\n")
    ignoring = block(
        "text", f"%%autograd_inspect --ignore {rule.code}\nautograd-inspect run --ignore {rule.code} train.py"
    )
    parts.append(f"## Ignore this rule\n\n{ignoring}")
    return "\n".join(parts)
