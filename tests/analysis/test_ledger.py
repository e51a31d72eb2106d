"""Who wrote a parameter besides the steps, from what, and who used its value in between."""

from __future__ import annotations

import pytest

from autograd_inspector.analysis.memory.ledger import Ledger
from autograd_inspector.analysis.modules.merged_again import merged_again
from autograd_inspector.analysis.optimizers.lost_updates import lost_updates, rounded_updates

from .written import NO_GRAD, Written


def steps_and_writes(between, rounds=3):
    """A training whose parameter ``between`` writes after each step; also what the losses are computed from."""
    program = Written()
    w, x = program.parameter("w"), program.tensor("x")
    optimizer, gradient = program.optimizer(w), program.tensor()
    for _ in range(rounds):
        program.backward(program.call("mul", w, x))
        program.step(optimizer, gradient=gradient)
        between(program, w, x)
    return program, w


def copied(source):
    """Writes what ``source`` computes over the parameter."""
    return lambda program, w, x: program.write("copy_", w, source(program, w, x), line=7)


def anew(program, _, x):
    return program.call("mean", x, grad=False)


@pytest.mark.parametrize(
    ("between", "lost"),
    [
        (copied(anew), True),
        (lambda program, w, _: program.write("normal_", w, line=7), True),
        (lambda program, w, _: program.write("zero_", w, line=7), False),
        (copied(lambda program, w, _: program.call("div", w, region=NO_GRAD)), False),
        (copied(lambda program, *_: program.call("zeros")), False),
        (lambda program, w, x: (program.call("mul", w, x), copied(anew)(program, w, x)), False),
        (lambda program, w, x: (program.call("clone", w), copied(anew)(program, w, x)), True),
    ],
    ids=["computed anew", "random", "constant", "of itself", "zeros", "used before", "looked at"],
)
def test_steps_whose_values_are_overwritten(between, lost):
    """By what was computed since, and nothing used them. A constant, or what reads the parameter, loses nothing."""
    program, w = steps_and_writes(between)
    assert [(each.tensors, len(each.steps)) for each in lost_updates(program.analysis)] == ([((w,), 3)] if lost else [])


def test_one_step_of_several_that_is_lost():
    """An initialization, or a restart, overwrites a single step: the others count."""
    program = Written()
    w, x = program.parameter(), program.tensor()
    optimizer, gradient = program.optimizer(w), program.tensor()
    for turn in range(3):
        program.backward(program.call("mul", w, x))
        program.step(optimizer, gradient=gradient)
        if not turn:
            program.write("copy_", w, program.call("mean", x, grad=False))
    assert list(lost_updates(program.analysis)) == []


def test_values_that_depend_on_a_parameter_by_rounding_alone():
    """`w.copy_(w.round())`, and `w.round_()`; a residual that is added to the rounded values keeps them apart."""

    def residual(program, w, x):
        return program.call("add", program.call("round", w, region=NO_GRAD), w, region=NO_GRAD)

    rounding = copied(lambda program, w, x: program.call("round", w, region=NO_GRAD))
    for between, found in (
        (rounding, True),
        (lambda program, w, x: program.write("round_", w, line=7), True),
        (copied(residual), False),
        (copied(anew), False),
    ):
        program, w = steps_and_writes(between)
        assert [each.tensors for each in rounded_updates(program.analysis)] == ([(w,)] if found else [])


def test_values_that_are_rounded_in_units_of_a_scale():
    """A scale for each channel leaves them on the grid; dividing by what is as large as the weight does not."""

    def in_units(shape, *, back):
        def source(program, w, x):
            scale = program.call("amax", w, shape=shape, region=NO_GRAD)
            rounded = program.call("round", program.call("div", w, scale, region=NO_GRAD), region=NO_GRAD)
            return program.call("mul", rounded, scale if back else w, region=NO_GRAD)

        return copied(source)

    for shape, back, found in (
        ((1,), True, True),
        ((3, 1), True, True),
        ((3, 4), True, False),
        ((3, 1), False, False),
    ):
        program, w = steps_and_writes(in_units(shape, back=back))
        assert [each.tensors for each in rounded_updates(program.analysis)] == ([(w,)] if found else [])


def merging(*, step=True, own=False, reset=False, data=False, twice=False):
    """A weight to which each round adds a product of two trained parameters."""
    program = Written()
    weight, a, b = program.parameter("weight", grad=False), program.parameter("a"), program.parameter("b")
    x, optimizer, gradient = program.tensor("x"), program.optimizer(a, b), program.tensor()
    program.more["owners"] = {weight: 0, a: 0, b: 0}
    for _ in range(3):
        program.backward(program.call("add", weight, program.call("mul", a, b)))
        if step:
            program.step(optimizer, gradient=gradient)
        for _ in range(2 if twice else 1):
            addend = program.call("mul", a, x if data else b, region=NO_GRAD)
            addend = program.call("sub", addend, weight, region=NO_GRAD) if own else addend
            program.write("add_", weight, addend, line=9)
        if reset:
            program.write("zero_", b, line=10)
    return program, weight, a, b


def test_a_value_that_is_added_once_more():
    """Of parameters that a step has moved since the last time, to a weight that the losses in between used."""
    program, weight, a, b = merging()
    [found] = merged_again(program.analysis)
    assert (found.into, found.sources, len(found.writes)) == (weight, (a, b), 3)


@pytest.mark.parametrize("other", ["step", "own", "reset", "data", "twice"])
def test_sums_that_are_no_repeated_merge(other):
    """Of parameters at rest, of the weight itself, of an adapter that begins anew, of data; twice between two steps."""
    program, *_ = merging(**{other: other != "step"})
    assert list(merged_again(program.analysis)) == []


def test_what_was_written_by_hand():
    """Writes of steps are not among them; the next write of all is the first of either."""
    program, w = steps_and_writes(copied(anew), rounds=1)
    ledger = Ledger(program.analysis)
    step, end = program.steps[0].op, len(program.ops)
    assert [op.name for op, _ in ledger.by_hand(w, 0, end)] == ["copy_"]
    following = ledger.next_write(w, -1)
    assert following is not None
    assert following[0].index == step
    assert not ledger.computed_with(w, step, end - 1)
    assert ledger.computed_with(w, -1, step)
