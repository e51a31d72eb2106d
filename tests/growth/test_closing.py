"""Closing a block takes work in proportion to what ran in it."""

import pytest

import autograd_inspector

from . import programs
from .counting import instructions, superlinear


def closing(program):
    """Instructions, by function, from the end of the block until the report was read in every form."""
    inspection = autograd_inspector.inspect()
    inspection.__enter__()
    program()

    def close():
        inspection.__exit__(None, None, None)
        inspection.report.to_json()
        inspection.report.to_text()

    return instructions(close)


@pytest.fixture(autouse=True, scope="module")
def warm():
    """What is imported and compiled on first use counts for no program."""
    closing(programs.chain(10))


def test_functions_of_the_same_name_in_the_file_of_a_program():
    """Twice as many of them, twice the work at most: each is read once, whoever calls one of that name."""
    small, large = (closing(programs.same_named(36, count, trained=True)) for count in (20, 40))
    assert large.total() < 2.2 * small.total()
    assert superlinear(small, large, 2, 1.2) == []
