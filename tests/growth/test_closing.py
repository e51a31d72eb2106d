"""Closing a block takes work in proportion to what ran in it; `make test` asks a share of the programs."""

import functools

import pytest

import autograd_inspector
from autograd_inspector.views.encoding import encoded
from tests.shares import share

from . import programs
from .counting import lines, superlinear

SMALL, LARGE = 240, 960
"""So many ops: at the smaller of the two what every block costs is of no account."""
TIMES = LARGE / SMALL


def closing(program):
    """Lines, by function, from the end of the block until the report was read in every form; bytes of the report."""
    inspection = autograd_inspector.inspect()
    inspection.__enter__()
    program()
    read = []

    def close():
        inspection.__exit__(None, None, None)
        read.append(inspection.report.to_json())
        inspection.report.to_text()
        inspection.report.to_dot()
        encoded(inspection.report)

    return lines(close), len(read[0])


@functools.cache
def closed(name, ops):
    """The same for a program of that name and length."""
    return closing((PROGRAMS | SHARED)[name](ops))


def recording(program):
    """Lines, by function, of the block itself."""
    with autograd_inspector.inspect():
        return lines(program)


@pytest.fixture(autouse=True, scope="module")
def warm():
    """What is imported and compiled on first use counts for no program."""
    closing(programs.chain(10))
    recording(programs.chain(10))


PROGRAMS = {
    "one chain": programs.chain,
    "a backward every 10 ops": lambda ops: programs.backwards(ops, 10),
    "a backward every 50 ops": lambda ops: programs.backwards(ops, 50),
    "gradient accumulation, folded": programs.accumulation,
    "gradient accumulation, one step": lambda ops: programs.accumulation(ops, steps=False),
    "training by hand": programs.by_hand,
    "gradients cleared by hand": programs.cleared_by_hand,
    "states that settle by gradients": programs.settled,
    "a sum of detached terms": programs.summed,
    "unrolled inner loops": programs.unrolled,
    "methods of the same names": lambda ops: programs.same_named(ops, 20),
    "terms without gradient": programs.constant_terms,
    "a graph that each round adds to": programs.leaking,
    "saved tensors modified": programs.modified,
    "gradients read": programs.reading,
    "hooks in each round": programs.hooked,
    "hooks after each backward": programs.hooked_late,
    "hooks on parts of parameters": programs.hooked_parts,
    "Functions that keep a tensor on their class": programs.kept_on_class,
    "an optimizer for each layer": programs.optimizers,
    "a chain of checkpoints": programs.checkpoints,
    "micro-batches under a checkpoint": programs.checkpointed_batches,
    "rounded and drawn values in each round": programs.flat,
    "backwards whose failure is caught": programs.caught,
    "version errors that are caught": programs.caught_versions,
    "a Function that returns None, in a graph that is kept": programs.gaps,
    "calls of many tensors": programs.lists,
    "a long script": programs.script,
    "one expression on a line": lambda ops: programs.one_expression(ops, 1),
    "one expression over many lines": lambda ops: programs.one_expression(ops, 16),
    "a weight written through its aliases": programs.written_through,
    "layers that no optimizer knows": programs.listed_layers,
}
SHARED = {
    "one loop differentiated again and again": programs.unrolled_once,
    "two unrolled loops of a model": programs.two_loops,
    "a backward in each step of a recurrent loop": programs.retained,
    "a backward for each head": programs.heads,
    "a gradient for each layer": programs.layerwise,
    "a graph without saved tensors": programs.freed,
    "saved tensors modified unseen": programs.spoiled,
    "an array of a tensor is written": programs.aliased,
    "a graph put aside, edited, and used at the end": programs.put_aside,
    "a loop under checkpoints, differentiated again and again": programs.unrolled_checkpoints,
}
"""Programs whose runs of the engine go through one graph, which grows."""
OF_BYTES = {*SHARED, "a Function that returns None, in a graph that is kept"}
ASKED = share(PROGRAMS | SHARED, 2, kinds=lambda name: [name in SHARED])


@pytest.mark.parametrize("name", ASKED)
def test_four_times_the_program_takes_four_times_the_work(name):
    """As a whole, and each function of the inspector that has a share worth naming."""
    small, large = (closed(name, ops)[0] for ops in (SMALL, LARGE))
    assert superlinear(small, large, TIMES, 1.3) == []
    assert large.total() < 1.15 * TIMES * small.total()


@pytest.mark.parametrize("name", share([*SHARED, "a long script", "version errors that are caught"], 2))
def test_four_times_the_program_takes_four_times_the_work_to_record(name):
    """Where runs of the engine share a graph, each walks what is new of it; a line is read, or searched at, once."""
    small, large = (recording((PROGRAMS | SHARED)[name](ops)) for ops in (SMALL, LARGE))
    assert superlinear(small, large, TIMES, 1.3) == []
    assert large.total() < 1.15 * TIMES * small.total()


@pytest.mark.parametrize("name", [name for name in ASKED if name in OF_BYTES])
def test_four_times_the_program_has_four_times_the_bytes(name):
    """A graph that is differentiated again and again is in the report once."""
    small, large = (closed(name, ops)[1] for ops in (SMALL, LARGE))
    assert large < 1.15 * TIMES * small


def test_functions_of_the_same_name_in_the_file_of_a_program():
    """Twice as many of them, twice the work at most: each is read once, whoever calls one of that name."""
    small, large = (closing(programs.same_named(36, count, trained=True))[0] for count in (20, 40))
    assert large.total() < 2.2 * small.total()
    assert superlinear(small, large, 2, 1.2) == []
