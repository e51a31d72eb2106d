"""Which rank speaks of a step, and what it says."""

import pytest
from msgspec.structs import replace

from autograd_inspector.integrations.delivery import said_of

from .loop import Loop


def test_other_ranks_are_silent_unless_asked(tmp_path):
    """Rank 0 reports; ``all_ranks`` makes the others report, too."""
    for options, expected in (({}, []), ({"all_ranks": True}, [1])):
        loop = Loop(tmp_path, formats=(), **options)
        loop.steps.start(tmp_path, main=False)
        loop.run(2)
        assert loop.reported == expected


def test_another_rank_explains_the_step_that_raised_there(tmp_path):
    """Nobody else has seen it. It was not asked for the chosen steps, and does not report on them."""
    loop = Loop(tmp_path, every=2, formats=())
    loop.steps.start(tmp_path, main=False)
    with pytest.raises(RuntimeError, match="modified by an inplace"), loop.steps:
        loop.run(5, spoil=3)
    assert loop.reported == [3]


def test_another_rank_is_silent_on_what_it_cannot_explain(tmp_path):
    """When one rank fails, all others lose their connection. A warning of something else does not make them speak."""
    for main, expected in ((True, [1]), (False, [])):
        loop = Loop(tmp_path, first=0, formats=())
        loop.steps.start(tmp_path, main=main)
        loop.model[1].register_forward_hook(lambda _m, _a, hidden: hidden.detach())
        loop.optimizer.register_step_pre_hook(lambda *_: [].pop())
        with pytest.raises(IndexError), loop.steps:
            loop.run(1)
        assert loop.reported == expected
        assert [finding.severity for _, report, _ in loop.told for finding in report.findings] == ["warning"] * main


def test_with_several_ranks_the_text_says_whose_it_is(tmp_path):
    """And that another rank may know more."""
    loop = Loop(tmp_path, formats=())
    with pytest.raises(ValueError, match="mine"), loop.steps:
        loop.run(1, spoil=1, raising=ValueError("mine"))
    capture = replace(loop.steps.report.capture, rank=1, world_size=2)
    text = said_of(7, replace(loop.steps.report, capture=capture, findings=()))
    assert text.startswith("rank 1, step 7 raised ValueError: mine: ")
    assert "no finding of this rank" in text
