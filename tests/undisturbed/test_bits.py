"""Outputs, gradients, buffers, parameters, optimizer state and random streams keep their bits."""

import pytest

from tests.undisturbed.bits import run
from tests.undisturbed.programs import PROGRAMS

pytestmark = pytest.mark.undisturbed


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_every_bit_is_the_same_with_and_without_the_inspector(program):
    """A program computes the same bits, and leaves every random stream at the same place."""
    plain, inspected = run(program, inspected=False), run(program, inspected=True)
    for name, bits in plain.items():
        assert inspected[name] == bits, f"{name} differ"


@pytest.mark.parametrize("program", [PROGRAMS[0], PROGRAMS[3]], ids=lambda program: program.__name__)
def test_a_run_after_an_inspection_is_as_before_it(program):
    """Nothing is left behind that would change a later, uninspected run."""
    before = run(program, inspected=False)
    run(program, inspected=True)
    assert run(program, inspected=False) == before
