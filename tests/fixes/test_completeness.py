"""No sentence that a finding can advise with is left out of the cases."""

from __future__ import annotations

from tests.fixes.cases import CASES
from tests.fixes.running import available, run
from tests.fixes.sentences import stands_in, written

NO_ADVICE = {
    "rules/ag105_left_autograd.py: NumPy cannot take {}{} which requires grad": "a message",
    "rules/ag202_unseen_edit/arrays.py: NumPy alias made here": "what a location is called",
    "rules/ag305_gradient_protocol/scaler_order.py: GradScaler cannot unscale": "a message",
    "rules/ag409_state_missing/tensor_keys.py: KeyError": "what an error of torch looks like",
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
