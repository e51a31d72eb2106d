"""What a case is: a sick program, and one edit of it for each alternative of the fix that it is given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from tests.fixes import programs

BLOCK: Final = "\n# What is inspected:\n"


@dataclass(frozen=True)
class Repair:
    """One alternative: ``words`` of the fix, and what they ask for as pairs of old and new text of the program."""

    words: str
    edits: tuple[tuple[str, str], ...]

    def of(self, case: Case) -> Case:
        """The case as the words want it; each old text stands once in what runs before the block and in it."""
        text = case.before + BLOCK + case.sick
        for old, new in self.edits:
            assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in\n{text}"
            text = text.replace(old, new)
        before, sick = text.split(BLOCK)
        return replace(case, before=before, sick=sick)


@dataclass(frozen=True)
class Case:
    """A sick program.

    ``symptom`` is an expression of its names that holds after the sick program and after no repaired one; without one
    the program raises. ``values``: the finding needs the values of tensors. ``before``: what runs before the block.
    ``needs``: a library that is not always there.
    """

    rule: str
    sick: str
    repairs: tuple[Repair, ...]
    symptom: str
    values: bool
    before: str
    needs: str


def case(
    rule: str, sick: str, *repairs: Repair, symptom: str = "", values: bool = False, before: str = "", needs: str = ""
) -> Case:
    """A case whose program begins on the line below the opening quotes."""
    return Case(rule, sick.removeprefix("\n"), repairs, symptom, values, before, needs)


def by(words: str, *texts: str) -> Repair:
    """The repair that these words of a fix ask for: old text, new text, old text, new text."""
    return Repair(words, tuple(zip(texts[::2], texts[1::2], strict=True)))


def _all() -> dict[str, Case]:
    named: dict[str, Case] = {}
    for module in iter_modules(programs.__path__):
        cases: dict[str, Case] = import_module(f"{programs.__name__}.{module.name}").CASES
        assert named.keys().isdisjoint(cases)
        named |= cases
    return named


CASES: Final = _all()
"""Name -> case."""
