"""Every alternative of a fix ends what it is the fix for, and leads to nothing else; no sentence is left out.

In one file, so that one process runs each case once for both.
"""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from tests.fixes.cases import CASES, Case, Repair
from tests.fixes.running import Run, available, run
from tests.fixes.sentences import stands_in, written

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
    assert set(well.report.notes) <= set(run(case).report.notes), well
    assert not (case.symptom and well.shows(case.symptom)), f"the symptom stays: {case.symptom}\n{well}"


NO_ADVICE = {
    "advice/grad_mode_problems.py: Pass `{}=True` to": "of several ranks",
    "rules/ag105_left_autograd.py: NumPy cannot take {}{} which requires grad": "a message",
    "rules/ag105_left_autograd.py: Use torch.distributed.nn.functional.{}, which has a gradient. If": "of ranks",
    "rules/ag202_unseen_edit/arrays.py: NumPy alias made here": "what a location is called",
    "rules/ag202_unseen_edit/summed_over.py: Call": "of several ranks",
    "rules/ag415_mixed_operands/gradients.py: Shard the rest": "of several ranks",
    "rules/ag202_unseen_edit/sent_buffers.py: Compute with a copy of the buffer": "of several ranks",
    "rules/ag205_result_discarded/written_copies.py: Write to the DTensor itself": "of several ranks",
    "rules/ag205_result_discarded/rule.py: Leave `writeback=False` out": "of several ranks",
    "rules/ag301_no_gradient/received.py: Compute": "of several ranks",
    "rules/ag305_gradient_protocol/scaler_order.py: GradScaler cannot unscale": "a message",
    "rules/ag409_state_missing/tensor_keys.py: KeyError": "what an error of torch looks like",
    "rules/ag415_mixed_operands/rule.py: Call the sharded module itself": "of several ranks",
    "rules/ag415_mixed_operands/rule.py: Make the other tensor a DTensor": "of several ranks",
    "rules/ag502_graph_leak/chained.py: Autograd records": "a message",
    "rules/unread.py: {} occurred": "a note of the report",
    "rules/ag60": "of several ranks: tests/distributed/test_programs.py runs them",
    "rules/ag705": "a figure, and what to look at: tests/rules/test_ag705_noisy_gradient.py",
    "advice/before_load/": "details of inspect_checkpoint(), whose fixes are code: tests/checkpoints runs them",
}
"""How sentences begin that no case has to print as a fix, or as a detail of a finding -> why."""


def test_every_sentence_is_printed_by_a_case():
    """A new sentence needs a program that it is printed for, and an edit for each of its alternatives."""
    findings = [f for c in CASES.values() if available(c) for f in run(c).report.findings]
    printed = {text for finding in findings for text in (finding.fix, *finding.details)}
    sentences = {s: parts for s, parts in written().items() if not any(map(s.startswith, NO_ADVICE))}
    missing = [c.needs for c in CASES.values() if not available(c)]
    left = [s for s, parts in sentences.items() if not any(stands_in(parts, text) for text in printed)]
    assert len(sentences) > 250
    assert len(left) <= len(missing), left


def test_exceptions_are_needed():
    """Each of them is the beginning of some sentence."""
    assert [begin for begin in NO_ADVICE if not any(s.startswith(begin) for s in written())] == []
