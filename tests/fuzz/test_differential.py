"""Random small programs, run with and without the inspector and against references."""

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from .programs import programs
from .searching import searched
from .tried import TRIED, described

COUNT = 2000


@pytest.mark.timeout(1200)  # a minute and a half alone; a busy machine is no counterexample
def test_the_inspector_is_right_about_random_programs(capsys):
    """Five oracles hold of every program; see oracles.py."""
    TRIED.clear()

    @seed(1)
    @settings(
        max_examples=COUNT,
        database=None,
        deadline=None,
        phases=[Phase.generate],  # A counterexample is made small by leaving out steps, see reducing.py.
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,  # The counterexample is told as a program that runs.
    )
    @given(programs())
    def search(program):
        searched(program)

    search()
    with capsys.disabled():
        print(f"\n{described()}")
    assert TRIED["programs"] > 0.9 * COUNT
    assert all(TRIED[kind] > 20 for kind in ("raised: version error", "gradients silently wrong", "AG202 error"))
