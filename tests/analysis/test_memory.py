"""What shares memory, and who wrote to it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograd_inspector.analysis.gradients.memory import writes_into, zeroed_in_place
from autograd_inspector.analysis.memory.overwritten_slots import overwritten_slots
from autograd_inspector.analysis.memory.repeated_entries import repeated_entries
from autograd_inspector.analysis.memory.self_copies import self_copies
from autograd_inspector.analysis.memory.snapshots import aliased_snapshots
from autograd_inspector.analysis.read_values import ReadValues
from autograd_inspector.model.op import Trait

from .written import Written


def test_a_copy_onto_itself_after_a_step():
    """`best.copy_(w)` of an alias: one line copies before and after a step, and keeps nothing."""
    program = Written()
    w = program.parameter()
    best, optimizer = program.tensor(of=w), program.optimizer(w)
    program.write("copy_", best, w, line=3)
    step = program.step(optimizer)
    program.write("copy_", best, w, line=3)
    [found] = self_copies(program.analysis)
    assert (found.tensors, found.step.index, found.op.index) == ((best,), step.op, 2)


def test_an_average_of_a_tensor_with_itself():
    """`shadow.mul_(d).add_(w)`, or `lerp_`, of one memory: it scales the weights, and averages nothing."""
    for average in (("mul_", "add_"), ("lerp_",)):
        program = Written()
        w = program.parameter()
        shadow, optimizer = program.tensor(of=w), program.optimizer(w)
        for _ in range(2):
            for name in average:
                program.write(name, shadow, *(() if name == "mul_" else (w,)), line=3)
            program.step(optimizer)
        [found] = self_copies(program.analysis)
        assert (found.tensors, found.averages) == ((shadow,), True)


def test_sums_with_oneself_that_are_no_average():
    """A decay of weights adds the weights to themselves; an average of another memory keeps something."""
    program = Written()
    w = program.parameter()
    other, optimizer = program.tensor(), program.optimizer(w)
    for _ in range(2):
        program.write("add_", w, w, line=3)
        program.write("mul_", other, line=4)
        program.write("add_", other, w, line=4)
        program.step(optimizer)
    assert list(self_copies(program.analysis)) == []


def test_copies_that_keep_something():
    """Of memory of its own; or where nothing moved the parameter in between."""
    program = Written()
    w = program.parameter()
    own, alias, optimizer = program.tensor(), program.tensor(of=w), program.optimizer(w)
    program.step(optimizer)
    program.write("copy_", own, w, line=3)
    program.step(optimizer)
    program.write("copy_", own, w, line=3)
    program.write("copy_", alias, w, line=4)
    assert list(self_copies(program.analysis)) == []


def test_a_snapshot_that_is_the_tensor_itself():
    """`before = w.detach()`, a write past it, and a comparison of the two."""
    program = Written()
    w = program.parameter(grad=False)
    before = program.call("detach", w)
    changed = program.write("add_", w)
    program.call("sub", w, before)
    [found] = aliased_snapshots(program.analysis)
    assert (found.alias, found.tensor, found.changed.index, found.restores) == (before, w, changed.index, False)


@pytest.mark.parametrize("how", ["clone", "through the alias", "unchanged"])
def test_snapshots_that_are_meant(how):
    """A copy; a write through the alias; no write at all."""
    program = Written()
    w = program.parameter(grad=False)
    before = program.call("clone" if how == "clone" else "detach", w)
    if how != "unchanged":
        program.write("add_", before if how == "through the alias" else w)
    program.call("sub", w, before)
    assert list(aliased_snapshots(program.analysis)) == []


def stacked(writes, *, own=False):
    """One tensor (or each time another) is put into a list that often, after a write of one line, and stacked."""
    program = Written()
    x = program.tensor()
    kept = []
    for _ in range(writes):
        program.write("add_", x, line=2)
        kept.append(program.call("clone", x, line=3) if own else x)
    program.call("stack", *kept)
    return [(found.count, found.changed.name) for found in repeated_entries(program.analysis)]


def test_one_tensor_that_is_kept_again_and_again():
    """It stands in the list as often as it was written to: all entries are the last."""
    assert stacked(3) == [(3, "add_")]
    assert stacked(3, own=True) == []


def test_a_tensor_that_is_repeated_to_make_a_larger_one():
    """Nothing wrote to it."""
    program = Written()
    x = program.tensor()
    program.call("cat", x, x)
    assert list(repeated_entries(program.analysis)) == []


def test_two_reads_of_a_tensor_are_alike_where_nothing_wrote_in_between():
    """Told by versions; of a tensor without one, by the op that returned it last."""
    program = Written()
    x = program.tensor()
    program.call("cos", x)
    program.call("sin", x)
    program.write("add_", x)
    program.call("tan", x)
    capture = program.capture
    cos, sin, _, tan = (ReadValues(capture).of(op) for op in capture.ops)
    assert cos == sin != tan


def gradient_program():
    """(program, gradient, a view of half of it)."""
    program = Written()
    gradient = program.tensor(shape=(4,))
    part = program.tensor(shape=(2,), of=gradient)
    return program, gradient, part


def test_a_gradient_that_was_zeroed_in_place():
    """By an op that fills it with zeros, after which nothing wrote to it; half of it is not all."""
    program, gradient, part = gradient_program()
    zeroing = program.write("zero_", gradient)
    assert zeroed_in_place(program.analysis, [gradient], 0, 9).index == zeroing.index
    program.write("add_", gradient)
    assert zeroed_in_place(program.analysis, [gradient], 0, 9) is None
    program.write("zero_", part)
    assert zeroed_in_place(program.analysis, [gradient], 0, 9) is None
    again = program.write("zero_", gradient)
    assert zeroed_in_place(program.analysis, [gradient], 0, 9).index == again.index


def test_writes_of_steps_are_no_writes_into_a_gradient():
    """Nor are those outside of the stretch that is asked for."""
    program, gradient, _ = gradient_program()
    program.write("mul_", gradient)
    program.write("add_", gradient, traits=Trait.STEP)
    program.write("div_", gradient)
    found = [op.name for op, _ in writes_into(program.analysis, gradient, 0, 2)]
    assert found == ["mul_"]


@pytest.mark.parametrize(
    ("stored", "assigned", "read_first", "found"),
    [(1, 1, False, True), (1, 0, False, False), (0, 1, False, False), (1, 1, True, False)],
    ids=["lost", "of another entry", "nothing was there", "read before"],
)
def test_an_entry_that_is_overwritten_before_it_is_read(stored, assigned, read_first, found):
    """A value was stored there, the entry is taken as a view, and another value is assigned to the same index."""
    program = Written()
    pool, old, new = program.tensor(shape=(2, 4)), program.tensor(), program.tensor()
    program.more["given"] = given = {}
    given[program.write("__setitem__", pool, old).index] = {"1": float(stored)}
    view = program.call("__getitem__", pool, shape=(4,))
    program.tensors[view] = replace(program.tensors[view], offset=16, extent=16)
    if read_first:
        program.call("mean", view, shape=())
    given[program.write("__setitem__", pool, new).index] = {"1": float(assigned)}
    program.call("stack", view, new, shape=(2, 4))
    places = [(each.pool, each.overwritten.inputs[1], each.read.name) for each in overwritten_slots(program.analysis)]
    assert places == ([(pool, new, "stack")] if found else [])
