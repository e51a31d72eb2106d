"""What a rule is, and the list of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable

from msgspec import Struct

from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.facts import Facts

Check = Callable[[Facts], Iterable[Finding]]


class Rule(Struct, frozen=True):
    """One rule: its stable code, its name, and the function whose docstring is its page."""

    code: str
    name: str
    check: Check

    @property
    def page(self) -> str:
        """The rule's documentation: what, why, example, fix, references."""
        return inspect.getdoc(self.check) or ""

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.page.split("\n", maxsplit=1)[0]


CATALOGUE: dict[str, Rule] = {}


def rule(code: str, name: str) -> Callable[[Check], Check]:
    """Enter a function into the catalogue."""

    def enter(check: Check) -> Check:
        CATALOGUE[code] = Rule(code, name, check)
        return check

    return enter
