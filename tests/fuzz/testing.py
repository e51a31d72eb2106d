"""Draws programs of the grammar by Hypothesis, and checks each."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from .programs import programs
from .searching import searched


def gradients(number: int, count: int) -> None:
    """Check so many programs, others with each number; raises Counterexample."""

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],  # A counterexample is made small by leaving out steps, see reducing.py.
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,  # The counterexample is told as a program that runs.
    )
    @given(programs())
    def search(program: object) -> None:
        searched(program)

    search()
