"""Write the rule table of README.md from the catalogue: `python scripts/rule_table.py [--check]`."""

from __future__ import annotations

import sys
from pathlib import Path

from autograd_inspector.rules import CATALOGUE

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- rules: begin (python scripts/rule_table.py) -->", "<!-- rules: end -->"


def table() -> str:
    """One line a rule: code, name and the first sentence of its page."""
    rows = [f"| {rule.code} | {rule.name} | {rule.summary} |" for _, rule in sorted(CATALOGUE.items())]
    return "\n".join([BEGIN, "| code | name | what it finds |", "| --- | --- | --- |", *rows, END])


def with_table(text: str) -> str:
    """The README's text with the table as it should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + table() + after


def main() -> int:
    """Rewrite the README, or with --check only say whether it is up to date."""
    text = README.read_text(encoding="utf-8")
    wanted = with_table(text)
    if "--check" in sys.argv[1:]:
        return int(text != wanted)
    README.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
