"""Plants the faults, measures each and compares what a report says with where it was planted."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from .anatomy import Anatomy, Planted
from .apart import Failed, apart, spread
from .catalogue import PROGRAMS
from .effects import NOTHING, Ran, effect, observed
from .operators import KINDS
from .probing import probed
from .repairing import Fault, Repair, repaired
from .running import warm
from .verdicts import told

EACH = 1
"""So many mutants of each kind in one program."""
LOUD = {"error", "warning"}
HEARD = {*LOUD, "info"}


@dataclass(frozen=True)
class Original:
    """A program without a fault: what its expressions are, how it runs, what is said of it."""

    name: str
    facts: list[dict[str, Any]]
    ran: dict[str, Any]
    held: list[int]
    said: list[dict[str, Any]]
    safe: list[str]
    """Its text with the edits that are called safe, where there are any."""

    @cached_property
    def anatomy(self) -> Anatomy:
        """What the operators look at."""
        return Anatomy(PROGRAMS[self.name].text, self.facts)

    @property
    def loud(self) -> list[dict[str, Any]]:
        """Findings that there should not be."""
        return [each for each in self.said if each["severity"] in LOUD]


@dataclass(frozen=True)
class Mutant:
    """A program with a fault."""

    program: str
    kind: str
    at: int
    text: str
    lines: tuple[int, ...]

    @property
    def planted(self) -> str:
        """The faulty lines."""
        lines = self.text.splitlines()
        return " | ".join(lines[number - 1].strip() for number in self.lines[:3])


@dataclass(frozen=True)
class Score:
    """What became of a mutant."""

    program: str
    kind: str
    at: int
    planted: str
    lines: tuple[int, ...]
    effect: str
    error: str = ""
    found: bool = False
    located: bool = False
    first: bool = False
    silent: bool = True
    said: list[dict[str, Any]] = field(default_factory=list)
    failed: str = ""
    repair: Repair = field(default_factory=Repair)

    @property
    def equivalent(self) -> bool:
        """Whether the fault is none."""
        kind = KINDS[self.kind]
        return self.effect in {NOTHING, *kind.sound} and not kind.always and not self.failed

    @property
    def well(self) -> bool:
        """Whether the report is what it should be."""
        return not self.failed and (self.silent if self.equivalent else self.located and self.first)


def originals(names: Iterable[str], folder: Path, jobs: int) -> Iterator[Original]:
    """The programs, as they are."""
    warm(PROGRAMS[name].text for name in names)

    def known(name: str) -> dict[str, Any]:
        path = folder / f"original_{name}.py"
        try:
            return asdict(_known(name, str(path)))
        except Failed as failure:
            raise AssertionError(f"{name}: {failure}") from failure

    for entry in spread(known, list(names), jobs):
        yield Original(**entry)


def _known(name: str, path: str) -> Original:
    text = PROGRAMS[name].text
    facts = apart(probed, text, path)
    Path(path).write_text(text, encoding="utf-8")
    ran = apart(_observed, path, False)
    assert not ran["error"], ran["error"]
    held = apart(_observed, path, True)["alive"]
    reports = [apart(told, path, values) for values in (False, True)]
    findings = [each for report in reports for each in report["findings"]]
    return Original(name, facts, ran, held, findings, [report["safe"] for report in reports if report["safe"]])


def _observed(path: str, memory: bool) -> dict[str, Any]:
    return observed(path, memory=memory)


def unsafe(originals: Iterable[Original], folder: Path) -> list[str]:
    """The programs without a fault that an edit which is called safe changes: they end otherwise, bit for bit."""
    path = folder / "edited.py"
    changed = []
    for original in originals:
        for text in original.safe:
            path.write_text(text, encoding="utf-8")
            if effect(Ran(**original.ran), Ran(**apart(_observed, str(path), False))) != NOTHING:
                changed.append(original.name)
    return changed


def mutants(originals: Iterable[Original], kinds: Iterable[str], seed: int, each: int = EACH) -> list[Mutant]:
    """Of each kind some in each program, others with each seed."""
    return [
        mutant
        for original in sorted(originals, key=lambda original: original.name)
        for kind in kinds
        for mutant in drawn(original, kind, random.Random(f"{seed} {original.name} {kind}"), each)
    ]


def drawn(original: Original, kind: str, generator: random.Random, each: int) -> list[Mutant]:
    """So many mutants of one kind in one program, or as many as there are."""
    found = list(KINDS[kind].plant(original.anatomy))
    generator.shuffle(found)
    return list(islice(_mutants(original, kind, found), each))


def planted(original: Original, kind: str) -> Iterator[Mutant]:
    """All mutants of one kind in one program."""
    return _mutants(original, kind, KINDS[kind].plant(original.anatomy))


def _mutants(original: Original, kind: str, found: Iterable[Planted]) -> Iterator[Mutant]:
    seen = {PROGRAMS[original.name].text + "\n"}
    for one in found:
        if one.lines and one.text not in seen:
            seen.add(one.text)
            yield Mutant(original.name, kind, one.at, one.text, tuple(sorted(one.lines)))


def scores(mutants: Sequence[Mutant], originals: dict[str, Original], folder: Path, jobs: int) -> Iterator[Score]:
    """What became of each, as it is known."""

    def judged(number: int) -> dict[str, Any]:
        mutant = mutants[number]
        return asdict(_judged(mutant, originals[mutant.program], folder / f"mutant_{number}.py"))

    for entry in spread(judged, range(len(mutants)), jobs):
        yield Score(**{**entry, "lines": tuple(entry["lines"]), "repair": Repair(**entry["repair"])})


def _judged(mutant: Mutant, original: Original, path: Path) -> Score:
    path.write_text(mutant.text, encoding="utf-8")
    known = {name: getattr(mutant, name) for name in ("program", "kind", "at", "planted", "lines")}
    kind = KINDS[mutant.kind]
    healthy = Ran(**{**original.ran, "alive": original.held})
    done, error = NOTHING, ""
    try:
        ran = Ran(**apart(_observed, str(path), False))
        error = ran.error
        done = effect(healthy, ran)
        if done == NOTHING:
            ran.alive = apart(_observed, str(path), True)["alive"]
            done = effect(healthy, ran)
        minor = done in kind.minor
        report = apart(told, str(path), kind.values, minor)
    except Failed as failure:
        return Score(**known, effect=done, error=error, failed=str(failure))
    finally:
        path.unlink()
    heard = HEARD if minor else LOUD
    repair = repaired(report, path, Fault(healthy, done, kind.values, heard))
    compared = _compared(mutant, report["findings"], heard)
    return Score(**known, effect=done, error=error, **compared, repair=repair)


def _compared(mutant: Mutant, findings: list[dict[str, Any]], heard: AbstractSet[str]) -> dict[str, Any]:
    counted = [each for each in findings if each["severity"] in heard]
    located = [bool(set(each["lines"]) & set(mutant.lines)) for each in counted]
    return {
        "found": bool(counted),
        "located": any(located),
        "first": located[:1] == [True],
        "silent": not any(each["severity"] in LOUD for each in findings),
        "said": findings,
    }
