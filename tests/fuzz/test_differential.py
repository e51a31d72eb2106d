"""Random small programs, run with and without the inspector and against references."""

import pytest

from tests.shares import WHOLE

from .faithful.apart import tried_apart
from .faithful.oracle import TRIED as PLAINLY
from .testing import gradients
from .tried import TRIED, described

COUNT = 500 if WHOLE else 200
OFTEN = COUNT / 50
"""So often at least each kind of program is drawn."""


@pytest.mark.timeout(1200)  # a busy machine is no counterexample
def test_the_inspector_is_right_about_random_programs(capsys):
    """Five oracles hold of every program; see oracles.py."""
    TRIED.clear()
    gradients(1, COUNT)
    with capsys.disabled():
        print(f"\n{described(TRIED)}")
    assert TRIED["programs"] > 0.9 * COUNT
    assert all(TRIED[kind] > OFTEN for kind in ("raised: version error", "gradients silently wrong", "AG202 error"))


@pytest.mark.timeout(1200)
def test_no_random_program_can_tell_that_it_is_inspected(capsys):
    """Values, exceptions, warnings with their places, what modes and hooks see, torch's state: all are the same."""
    PLAINLY.clear()
    tried_apart(range(COUNT))
    with capsys.disabled():
        print(f"\n{described(PLAINLY)}")
    assert all(PLAINLY[f"with {kind}"] > OFTEN for kind in ("interrupt", "thread", "filter", "subclass", "values=True"))
