"""Whose parameters they are, and what losses have to do with them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograd_inspector.analysis.gradient_cuts.cuts_behind import cuts_behind
from autograd_inspector.analysis.gradients.batches import data_of, same_batch
from autograd_inspector.analysis.modules.untold_dropouts import untold_dropouts
from autograd_inspector.analysis.operand_origins import Origins
from autograd_inspector.analysis.optimizers.exchanged import exchanged_in_groups
from autograd_inspector.analysis.optimizers.holders import are_bare, is_idle, nearest, stepped_in_vain
from autograd_inspector.analysis.parameters.loss_ancestors import leading
from autograd_inspector.analysis.parameters.turned_into_buffers import made_of
from autograd_inspector.analysis.parameters.unoptimized import Unoptimized
from autograd_inspector.analysis.parameters.unserved import unserved
from autograd_inspector.model.op import ModuleCall, Trait

from .written import NO_GRAD, Written


def two_networks(*, own_loss_detached):
    """A critic whose own loss may be cut off from one of its parameters, and an actor whose loss reaches that one."""
    program = Written()
    cut_off, kept, actor = program.parameter("cut"), program.parameter("kept"), program.parameter("actor")
    critic, other = program.optimizer(cut_off, kept), program.optimizer(actor)
    hidden = program.call("tanh", cut_off)
    hidden = program.call("detach", hidden) if own_loss_detached else hidden
    program.backward(program.call("mul", hidden, kept))
    program.steps_with(critic, {kept: program.tensor()} if own_loss_detached else dict.fromkeys((cut_off, kept), 1))
    program.backward(program.call("mul", cut_off, actor))
    program.steps_with(other, {actor: program.tensor()})
    return program, cut_off


def test_a_parameter_that_only_the_loss_of_another_optimizer_reaches():
    """It has no gradient at any step of its own optimizer."""
    program, cut_off = two_networks(own_loss_detached=True)
    assert unserved(program.capture) == {cut_off}
    program, _ = two_networks(own_loss_detached=False)
    assert unserved(program.capture) == frozenset()


def test_an_optimizer_that_has_nothing_to_step():
    """Frozen parameters, and no gradient: idle; one that steps after another's backward does so in vain."""
    program = Written()
    frozen, learning = program.parameter("frozen", grad=False), program.parameter("learning")
    idle, trained = program.optimizer(frozen), program.optimizer(learning)
    program.backward(program.call("pow", learning))
    program.steps_with(idle, {})
    program.steps_with(trained, {learning: program.tensor()})
    analysis = program.analysis
    optimizers = analysis.capture.placement.optimizers
    assert [is_idle(analysis, optimizer) for optimizer in optimizers] == [True, False]
    assert stepped_in_vain(analysis, [learning]) is optimizers[idle]
    assert stepped_in_vain(analysis, [frozen]) is None


def test_the_nearest_optimizer_has_most_parameters_of_the_same_model():
    """Of those that step; a tensor of the program's own is in no model."""
    program = Written()
    left, first, second, other = (program.parameter(name) for name in ("a.left", "a.first", "a.second", "b.other"))
    program.optimizer(first, second)
    foreign = program.optimizer(other)
    program.more["owners"] = {left: 0, first: 0, second: 0, other: 1}
    program.steps_with(foreign, {})
    assert nearest(program.analysis, [left]) is None
    program.steps_with(0, {})
    assert nearest(program.analysis, [left]).id == 0
    own = program.tensor()
    assert are_bare(program.analysis, [own])
    assert not are_bare(program.analysis, [left])


def test_the_data_of_a_loss():
    """What its graph was given and did not make: no parameters, and no masks that forward made."""
    program = Written()
    w, x, y = program.parameter(), program.tensor(), program.tensor()
    program.tensor()
    out = program.call("mul", w, x)
    mask = program.call("ones")
    first = program.backward(program.call("sub", program.call("mul", out, mask), y))
    second = program.backward(program.call("mul", w, x))
    analysis = program.analysis
    assert data_of(analysis, first) == {x, y}
    assert same_batch(analysis, second, first, -1, 99)
    assert not same_batch(analysis, first, second, -1, 99)


def test_values_of_a_loss_come_from_leaves_with_a_cut_or_without():
    """But not from what a leaf that gets a gradient was once made of."""
    program = Written()
    w, v = program.parameter("w"), program.parameter("v")
    run = program.backward(program.call("mul", program.call("detach", program.call("tanh", w)), v))
    analysis = program.analysis
    assert {w, v} <= leading(analysis.capture, analysis.flow, [run], -1)
    assert w not in leading(analysis.capture, analysis.flow, [run], 1)


def test_a_cut_behind_a_loss_and_the_leaves_that_it_keeps_gradient_from():
    """Each cut with what lies above it."""
    program = Written()
    w, v = program.parameter("w"), program.parameter("v")
    cut = program.call("detach", program.call("mul", w, v))
    run = program.backward(program.call("mul", cut, v))
    analysis = program.analysis
    [(where, kept, above)] = cuts_behind(analysis.capture, analysis.flow, [(run.roots[0], run.start)])
    assert (where[1], set(kept), set(above)) == (cut, {w, v}, {w, v})


def test_a_dtype_comes_from_what_had_it_first():
    """Through ops that hand it on, to the op that made it or to a parameter."""
    program = Written()
    half = program.tensor("w", kind="parameter", dtype="float16")
    made = program.call("zeros", dtype="float16")
    made_of_it = program.call("mul", made, program.tensor(), dtype="float16")
    read = program.call("mul", half, program.tensor(), dtype="float16")
    analysis = program.analysis
    origins = Origins(analysis.capture, analysis.flow)
    assert origins.of(made_of_it, lambda record: record.dtype).made.name == "zeros"
    assert origins.of(read, lambda record: record.dtype).tensor == half


def test_a_dropout_that_nobody_told_whether_anything_is_trained():
    """In a module in eval mode, each line once."""
    program = Written()
    for _ in range(2):
        program.call("dropout", program.tensor(), line=4, traits=Trait.UNTOLD)
    program.call("dropout", program.tensor(), line=5)
    program.more["calls"] = (ModuleCall(0, "", "Net", training=False),)
    program.inside(0)
    [found] = untold_dropouts(program.analysis)
    assert (found.op.index, found.call.type) == (0, "Net")
    program.more["calls"] = (ModuleCall(0, "", "Net", training=True),)
    assert list(untold_dropouts(program.analysis)) == []


@pytest.mark.parametrize(("copied", "longer"), [(True, False), (False, False), (False, True)])
def test_a_parameter_that_is_exchanged_in_its_group(copied, longer):
    """The next step meets another one at its place; a group that became longer tells of no place."""
    program = Written()
    old, other, new = program.parameter("old"), program.parameter("other"), program.parameter("new")
    optimizer = program.optimizer(old, other)
    program.backward(program.call("mul", old, other))
    program.step(optimizer, gradient=program.tensor())
    if copied:
        program.write("copy_", old, program.call("clone", new, region=1))
    record = program.optimizers[optimizer]
    held = (new, other, program.parameter("more")) if longer else (new, other)
    program.optimizers[optimizer] = replace(record, parameters=(held,))
    program.backward(program.call("mul", old, other))
    program.step(optimizer, gradient=program.tensor())
    analysis = program.analysis
    loose = Unoptimized(analysis.capture.placement.optimizers[optimizer], (old,), (new,))
    found = [(each.old, each.new, each.copied is not None) for each in exchanged_in_groups(analysis, loose)]
    assert found == ([] if longer else [(old, new, copied)])


@pytest.mark.parametrize("how", ["merged", "statistics", "unnamed"])
def test_a_buffer_that_holds_what_parameters_were(how):
    """Computed of them alone, however they were trained; what an input went into holds no parameter's value."""
    program = Written()
    norm, direction = program.parameter("norm"), program.parameter("direction")
    optimizer = program.optimizer(norm, direction)
    program.backward(program.call("sum", program.call("mul", norm, direction), shape=()))
    program.step(optimizer, gradient=program.tensor())
    scaled = program.call("mul", norm, direction, region=NO_GRAD)
    merged = program.call("add", scaled, program.tensor(), region=NO_GRAD) if how == "statistics" else scaled
    names = () if how == "unnamed" else ("weight",)
    program.tensors[merged] = replace(program.tensors[merged], kind="buffer", names=names)
    analysis = program.analysis
    assert made_of(analysis.capture, analysis.flow, (norm, direction)) == ((merged,) if how == "merged" else ())
