"""Makes the edits of a mutant's report in it, runs it again, and measures what is left of the fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .apart import Failed, apart
from .effects import CHANGES, LEAKS, NOTHING, RAISES, STARVES, Ran, effect, observed
from .verdicts import told

_RANK: Final = {NOTHING: 0, LEAKS: 1, CHANGES: 1, STARVES: 2, RAISES: 3}


@dataclass(frozen=True)
class Repair:
    """What became of a mutant that was edited as its report says."""

    offered: bool = False
    """The report changes the program."""
    repaired: bool = False
    """The fault is gone: the same bits, or no exception, as many learn, and less is told, nothing of it new."""
    same: bool = False
    """The parameters and gradients are those of the program without the fault, bit for bit."""
    worse: str = ""
    """In what the edited program is worse than the mutant."""
    left: str = ""
    """What is left of the fault, or was told."""


@dataclass(frozen=True)
class Fault:
    """What is known of a mutant before its repair."""

    healthy: Ran
    """How the program without the fault runs."""
    effect: str
    values: bool
    """Only who reads the numbers can know it."""
    heard: AbstractSet[str]
    """The severities that count."""

    def rules(self, report: dict[str, Any]) -> Counter[str]:
        """How often a report tells each rule."""
        return Counter(each["rule"] for each in report["findings"] if each["severity"] in self.heard)


def repaired(report: dict[str, Any], path: Path, fault: Fault) -> Repair:
    """Run the text that a mutant's report gives in its place."""
    text = report["patched"]
    if not text:
        return Repair()
    try:
        compile(text, str(path), "exec")
    except (SyntaxError, ValueError) as error:
        return Repair(offered=True, worse=f"no program: {error}")
    path.write_text(text, encoding="utf-8")
    try:
        ran = Ran(**apart(_observed, str(path), False))
        after = effect(fault.healthy, ran)
        if after == NOTHING and fault.effect == LEAKS:
            ran.alive = apart(_observed, str(path), True)["alive"]
            after = effect(fault.healthy, ran)
        again = apart(told, str(path), fault.values)
    except Failed as failure:
        return Repair(offered=True, worse=f"failed: {str(failure)[-200:]}")
    finally:
        path.unlink()
    then, now = fault.rules(report), fault.rules(again)
    gone = now != then and now <= then
    same = after == NOTHING
    well = (same and (gone or fault.effect != NOTHING)) or (after == CHANGES and gone)
    worse = ""
    if _RANK[after] > _RANK[fault.effect]:
        worse = f"{fault.effect or 'nothing'} became {after} {ran.error[:160]}"
    left = "" if well else f"{after} {ran.error[:160]} {dict(now)}"
    return Repair(offered=True, repaired=well, same=same, worse=worse, left=left)


def _observed(path: str, memory: bool) -> dict[str, Any]:
    return observed(path, memory=memory)
