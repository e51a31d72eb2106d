"""Where gradient stops, and why."""

from __future__ import annotations

import pytest

from autograd_inspector.analysis.gradient_cuts.asked_in_vain import asked_in_vain
from autograd_inspector.analysis.gradient_cuts.classifier import (
    GradientCut,
    bypassed,
    cause_of,
    copied_in,
    differentiable,
    hands_on,
    is_cut,
    is_origin,
    may_learn,
)
from autograd_inspector.analysis.gradient_cuts.exported_values import only_left
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.gradient_cuts.left_after_a_cut import left_after_a_cut
from autograd_inspector.analysis.gradient_cuts.truncated import is_truncated
from autograd_inspector.model.event import RequiresGradChanged
from autograd_inspector.model.op import Trait

from .written import NO_GRAD, Written


def cut(name, **fields):
    """(the capture, the op of that name) of what reads a parameter."""
    program = Written()
    program.call(name, program.parameter(), **fields)
    return program.capture, program.ops[-1]


@pytest.mark.parametrize(
    ("name", "fields", "cause"),
    [
        ("detach", {}, "detached"),
        ("mul", {"region": NO_GRAD}, "no_grad"),
        ("argmax", {"dtype": "int64"}, "non-differentiable"),
        ("tensor", {}, "left autograd"),
        ("all_reduce", {"grad": False, "traits": Trait.COLLECTIVE}, "collective"),
    ],
)
def test_the_cause_is_what_the_op_does_or_the_mode_that_it_ran_under(name, fields, cause):
    """What the op itself does comes first."""
    capture, op = cut(name, **fields)
    assert is_cut(capture, op, op.outputs[0])
    assert cause_of(capture, op, op.outputs[0]) == cause


def test_what_takes_only_a_shape_cuts_nothing():
    """No value goes on through it."""
    capture, op = cut("zeros_like")
    assert op.has(Trait.CUT)
    assert not hands_on(capture, op)
    assert not is_cut(capture, op, op.outputs[0])


def test_what_only_left_for_numpy_left_autograd():
    """`x.detach().numpy()`: the detached tensor has no other reader."""
    program = Written()
    out = program.call("detach", program.parameter())
    program.call("numpy", out, traits=Trait.EXPORT)
    capture = program.capture
    assert cause_of(capture, capture.ops[0], out) == "left autograd"
    program.call("mul", out, out)
    assert cause_of(program.capture, capture.ops[0], out) == "detached"


def test_values_that_were_copied_into_a_parameter_have_no_history():
    """`w.copy_(computed)` under no_grad; where autograd records it nothing is lost."""
    program = Written()
    w, computed = program.parameter(), program.call("mul", program.parameter("v"), program.parameter("u"))
    quiet = program.write("copy_", w, computed)
    loud = program.write("copy_", w, computed, region=0)
    capture = program.capture
    assert copied_in(capture, quiet, w)
    assert not copied_in(capture, loud, w)
    assert not copied_in(capture, quiet, computed)


def test_a_write_through_data_goes_past_the_parameter():
    """`w.data += update`: the alias was written, the parameter has the numbers."""
    program = Written()
    w, update = program.parameter(), program.call("mul", program.parameter("v"), program.parameter("u"))
    alias = program.tensor(of=w)
    write = program.write("add_", alias, update)
    assert not bypassed(program.capture, write, alias)
    program.tensors[alias] = type(program.tensors[alias])(
        alias, "activation", (4,), "float32", "cpu", 16, False, True, program.tensors[w].storage, 0, 16, counter=99
    )
    assert bypassed(program.capture, write, w)


@pytest.mark.parametrize(
    ("dtype", "yes"), [("float32", True), ("bfloat16", True), ("complex64", True), ("int64", False), ("bool", False)]
)
def test_autograd_follows_floating_and_complex_numbers(dtype, yes):
    """No others."""
    assert differentiable(dtype) is yes


def test_leaves_of_a_cut_may_learn_but_gradient_is_not_meant_to_end_there():
    """`torch.tensor(w * 2, requires_grad=True)` is a leaf that a cut made."""
    program = Written()
    w = program.parameter()
    made = program.call("tensor", w)
    program.tensors[made] = type(program.tensors[made])(
        made, "activation", (4,), "float32", "cpu", 16, True, True, made, 0, 16, birth=0
    )
    capture = program.capture
    assert (may_learn(capture, w), may_learn(capture, made)) == (True, True)
    assert (is_origin(capture, w), is_origin(capture, made)) == (True, False)


def test_leaves_are_those_that_gradient_arrives_at():
    """Through what autograd recorded, and not through a detach; a frozen one is none."""
    program = Written()
    w, v, frozen = program.parameter("w"), program.parameter("v"), program.parameter("f", grad=False)
    kept = program.call("mul", w, frozen)
    loss = program.call("add", kept, program.call("detach", v))
    analysis = program.analysis
    leaves = Leaves(analysis.capture, analysis.flow)
    assert leaves.of(loss, len(program.ops)) == (w,)
    assert leaves.of(w, 0) == (w,)
    assert leaves.above(analysis.capture.ops[1]) == (v,)


def test_leaves_are_those_that_required_grad_when_they_were_read():
    """A discriminator that is frozen now learnt from its own loss, and was not meant to learn from the other."""
    program = Written()
    w, v = program.parameter("w", grad=False), program.parameter("v")
    turns = [(0, w, True), (0, v, False), (3, w, False), (3, v, True)]
    program.more["requires_grad_changes"] = tuple(RequiresGradChanged(at, t, on, -1) for at, t, on in turns)
    own = program.call("mul", w, v)
    first = program.call("grad", own, w, traits=Trait.CUT)
    program.call("detach", w, traits=Trait.CUT)
    program.call("grad", program.call("mul", w, v), v)
    analysis = program.analysis
    leaves = Leaves(analysis.capture, analysis.flow)
    assert leaves.above(analysis.capture.ops[1]) == (w,)
    assert leaves.above(analysis.capture.ops[2]) == (w,)
    assert leaves.above(analysis.capture.ops[4]) == (v,)
    assert (leaves.of(w, 2), leaves.of(w, 4), leaves.of(first, 2)) == ((w,), (), ())


def test_a_parameter_that_is_read_as_a_number_alone_left_autograd():
    """One that an op reads as well did not."""
    program = Written()
    w, v = program.parameter("w"), program.parameter("v")
    program.call("item", w, shape=(), traits=Trait.EXPORT, grad=False)
    program.call("item", v, shape=(), traits=Trait.EXPORT, grad=False)
    run = program.backward(program.call("mul", v, v))
    [found] = only_left(program.capture, run, frozenset({w, v}))
    assert (found.cause, found.parameters) == ("left autograd", (w,))


def test_what_is_left_of_a_graph_when_a_tensor_is_cut_off():
    """Whether a backward reaches something without it."""
    program = Written()
    state = program.call("mul", program.parameter("w"), program.parameter("v"))
    other = program.call("mul", program.parameter("u"), state)
    run = program.backward(other)
    analysis = program.analysis
    assert left_after_a_cut(analysis.capture, analysis.flow, run, frozenset({state}))
    assert not left_after_a_cut(analysis.capture, analysis.flow, run, frozenset({state, 3}))


def test_a_backward_that_is_asked_for_in_vain():
    """It raises, for its root has no graph; one that raises for another reason had one."""
    program = Written()
    w = program.parameter()
    lost = program.call("sum", program.call("detach", w), shape=())
    program.backward(lost, error=NO_GRAPH)
    program.backward(program.call("sum", w, shape=()), error=NO_GRAPH)
    program.backward(lost, error="RuntimeError: something else")
    assert [run.index for run in asked_in_vain(program.capture)] == [0]


NO_GRAPH = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"


def test_the_cut_behind_a_backward_that_raised_is_told():
    """With what it keeps from learning."""
    program = Written()
    w = program.parameter()
    program.optimizer(w)
    program.backward(program.call("sum", program.call("detach", program.call("tanh", w)), shape=()), error=NO_GRAPH)
    [found] = program.analysis.harmful_cuts
    assert (found.cause, [op.name for op in found.ops], found.parameters, found.fatal) == (
        "detached",
        ["detach"],
        (w,),
        True,
    )


def trained(cut):
    """Two parameters of an optimizer, one of them behind a cut; a step."""
    program = Written()
    w, v = program.parameter("w"), program.parameter("v")
    optimizer = program.optimizer(w, v)
    hidden = program.call("tanh", w)
    hidden = program.call("detach", hidden) if cut else hidden
    program.backward(program.call("mul", hidden, v))
    program.step(optimizer)
    return program, w, v


def test_a_cut_matters_where_it_starves_a_parameter():
    """Of one that learns nothing is told, and of what gets a gradient nothing is missed."""
    program, w, v = trained(cut=True)
    analysis = program.analysis
    assert analysis.received_gradient == {v}
    assert analysis.optimized_trainable == {w, v}
    [found] = analysis.harmful_cuts
    assert (found.parameters, found.fatal) == ((w,), False)
    program, *_ = trained(cut=False)
    assert program.analysis.harmful_cuts == ()


def test_a_cut_that_only_a_number_for_the_log_goes_through():
    """What the loss is not computed of matters to nobody."""
    program, *_ = trained(cut=False)
    program.call("item", program.call("detach", 0), shape=(), traits=Trait.EXPORT)
    assert program.analysis.harmful_cuts == ()


@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True), (False, False)])
def test_a_loss_that_is_detached_once_a_backward_went_through_it(before, after):
    """It is truncated; one that no backward, or only a later one, goes through is cut off."""
    program = Written()
    loss, other = (program.call("pow", program.parameter()) for _ in range(2))
    program.backward(loss if before else other)
    program.call("detach", loss)
    op = program.ops[-1]
    run = program.backward(loss if after else other)
    analysis = program.analysis
    cut = GradientCut("detached", (op,), op.outputs, (0,), run, fatal=False)
    assert is_truncated(analysis.run_graphs, analysis.flow, cut) is before
