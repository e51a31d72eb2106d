"""What a rule is, and the list of them: one module a rule, whose name is its code and its name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.edit import Written
from autograd_inspector.model.finding import Across, Finding, Problem
from autograd_inspector.model.rank_summary import RankSummary
from autograd_inspector.model.ranks import RankedFinding, RankedPlacement

Check = Callable[[Analysis], Iterable[Problem]]
Compare = Callable[[Mapping[int, RankSummary], RankedPlacement], Iterable[Across]]
Write = Callable[[Problem], Written]

_MODULE = re.compile(r"ag(\d+)_(\w+)")


class Rule(Struct, frozen=True):
    """One rule: its stable code, its name, and the function whose docstring is its page."""

    code: str
    name: str
    check: Check
    compare: Compare | None = None
    """What only several ranks' summaries show together."""
    compare_last: Compare | None = None
    """The same, asked only where nothing else tells why ranks differ."""

    @property
    def page(self) -> str:
        """The rule's documentation: what, why, example, fix, references."""
        return inspect.getdoc(self.check) or ""

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.page.split("\n", maxsplit=1)[0]

    def findings(self, analysis: Analysis, write: Write) -> Iterator[Finding]:
        """What the rule concludes, with what ``write`` makes of its cures."""
        for problem in self.check(analysis):
            yield Finding.of(self.code, self.name, problem, write(problem))

    def across(
        self, ranks: Mapping[int, RankSummary], placement: RankedPlacement, *, last: bool = False
    ) -> Iterator[RankedFinding]:
        """What the rule concludes from a comparison of ranks; ``last``: when no rule explains a difference."""
        compare = self.compare_last if last else self.compare
        for problem, having in compare(ranks, placement) if compare is not None else ():
            yield RankedFinding(Finding.of(self.code, self.name, problem), having)


def _rules() -> Iterator[Rule]:
    """``ag404_not_in_optimizer`` is AG404, not-in-optimizer; a folder has its ``check`` in ``rule.py``."""
    room = __name__.rpartition(".")[0]
    for module_info in iter_modules(import_module(room).__path__):
        named = _MODULE.fullmatch(module_info.name)
        if named is not None:
            module = import_module(f"{room}.{module_info.name}{'.rule' if module_info.ispkg else ''}")
            compared = (getattr(module, name, None) for name in ("compare", "compare_last"))
            yield Rule(f"AG{named[1]}", named[2].replace("_", "-"), module.check, *compared)


CATALOGUE: dict[str, Rule] = {rule.code: rule for rule in _rules()}
