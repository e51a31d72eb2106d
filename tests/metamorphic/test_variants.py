"""Programs that are rewritten and do the same get the same findings."""

import pytest

from tests.shares import WHOLE

from . import running
from .running import compared, drawn

PAIRS, SEED = 200 if WHOLE else 80, 1


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_rewritten_programs_get_the_same_findings(tmp_path):
    """Rule, severity and culprit of each report, whatever names, comments, looks and blocks are added."""
    outcome = compared(tmp_path, drawn(PAIRS, SEED), SEED)
    print("\n".join(outcome.missing))
    assert not outcome.differences, "\n".join(map(str, outcome.differences))
    assert outcome.compared >= 0.9 * PAIRS, f"only {outcome.compared} of {outcome.variants} variants were compared"


def test_a_finding_that_rests_on_a_name_is_a_difference(tmp_path, monkeypatch):
    """The comparison sees it where a rewritten program is another program."""
    rewritten = running.rewritten

    def spoiled(source, kind, tests, random):
        text, lines = rewritten(source, kind, tests, random)
        return text.replace(".detach()", " .clone()") if kind == "comments" else text, lines

    monkeypatch.setattr(running, "rewritten", spoiled)
    test = ("test_ag101_stop_gradients.py", "test_both_losses_of_one_step_are_cut")
    outcome = compared(tmp_path, {"comments": [test], "laid out anew": [test]}, SEED)
    assert {difference.kind for difference in outcome.differences} == {"comments"}, outcome
    assert outcome.variants == outcome.compared == 2


def test_tests_are_drawn_evenly():
    """As many pairs as asked for, no test more often than another, other ones with another seed."""
    variants = drawn(100, 1)
    tests = [test for members in variants.values() for test in members]
    assert len(tests) == 100
    assert {tests.count(test) for test in tests} == {running.EACH}
    assert variants == drawn(100, 1) != drawn(100, 2)
