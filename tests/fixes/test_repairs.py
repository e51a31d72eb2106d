"""Every alternative of a fix ends what it is the fix for, and leads to nothing else."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from tests.fixes.cases import CASES, Case, Repair
from tests.fixes.running import Run, run

REPAIRS = [
    pytest.param(name, repair, id=f"{name}: {repair.words}") for name, c in CASES.items() for repair in c.repairs
]
_NEXT = re.compile(r"[,;:] or |\. Or |(?<=\)) or ")
"""Where one alternative of a sentence ends and the next begins."""


def needed(case: Case) -> None:
    if case.needs:
        pytest.importorskip(case.needs)


def found(case: Case, sick: Run):
    """The finding whose fix has the words of every repair."""
    findings = [f for f in sick.report.findings if f.rule == case.rule and all(r.words in f.fix for r in case.repairs)]
    assert findings, f"no {case.rule} with these fixes:\n{sick}"
    return findings[0]


def alternatives(fix: str) -> list[tuple[int, int]]:
    """Where each alternative of a sentence stands in it."""
    bounds = [(0, 0), *(match.span() for match in _NEXT.finditer(fix)), (len(fix), len(fix))]
    return [(end, start) for (_, end), (start, _) in pairwise(bounds)]


@pytest.mark.parametrize("name", CASES)
def test_fix_is_printed(name):
    """The sick program shows its symptom and is told the fix; each alternative of it is one of the repairs."""
    case = CASES[name]
    needed(case)
    sick = run(case)
    fix = found(case, sick).fix
    assert sick.shows(case.symptom), sick
    assert not (sick.raised and case.symptom), sick
    covered = [(fix.index(r.words), fix.index(r.words) + len(r.words)) for r in case.repairs]
    left = [fix[a:b] for a, b in alternatives(fix) if not any(start < b and a < end for start, end in covered)]
    assert not left, f"never applied: {left}\nof: {fix}"


@pytest.mark.parametrize(("name", "repair"), REPAIRS)
def test_repair_cures(name, repair: Repair):
    """The program ends, without the symptom, without that finding, and without any error or warning."""
    case = CASES[name]
    needed(case)
    told = found(case, run(case))
    well = run(repair.of(case))
    assert not well.raised, well
    assert not well.alarms, well
    assert told.message not in [finding.message for finding in well.report.findings if finding.rule == case.rule], well
    assert not well.report.notes, well
    assert not (case.symptom and well.shows(case.symptom)), f"the symptom stays: {case.symptom}\n{well}"
