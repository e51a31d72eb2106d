"""Questions that several rules ask, each answered in one place."""

from __future__ import annotations

from msgspec.structs import replace

from autograd_inspector.analysis.gradients.asked_in_part import answered_in_part
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.modules.additions import Additions
from autograd_inspector.model.op import Trait

from .written import NO_GRAD, Written


def test_groups_and_their_members_keep_the_order_in_which_they_were_met():
    """The first finding of a line stands where its line was met first."""
    assert list(grouped("abcABa", str.lower).items()) == [("a", ["a", "A", "a"]), ("b", ["b", "B"]), ("c", ["c"])]
    assert grouped("", str.lower) == {}


def test_the_optimizers_that_hold_one_of_several_parameters():
    """Each once, in the order in which they were made; nothing is held by none."""
    program = Written()
    one, other, left = program.parameter("a"), program.parameter("b"), program.parameter("c")
    first, both = program.optimizer(one), program.optimizer(one, other)
    placement = program.capture.placement
    assert [optimizer.id for optimizer in placement.holding([one, other])] == [first, both]
    assert [optimizer.id for optimizer in placement.holding([other])] == [both]
    assert placement.holding([left]) == placement.holding([]) == []


def asked(returned):
    """``autograd.grad`` of a loss by two leaves, which returned that many tensors."""
    program = Written()
    x, y = program.tensor("x", grad=True), program.tensor("y", grad=True)
    loss = program.call("sum", x)
    start = len(program.ops)
    program.call("grad", loss, grad=False)
    program.ops[-1] = replace(program.ops[-1], outputs=program.ops[-1].outputs * returned)
    return program, program.backward(loss, api="grad", reached=(x, y), start=start, end=start)


def test_calls_of_grad_that_returned_none_for_a_part():
    """Fewer tensors than were asked for; a call that failed, and backward(), returned nothing at all."""
    program, run = asked(1)
    assert list(answered_in_part(program.capture)) == [run]
    program.backwards[0] = replace(run, error="RuntimeError: x")
    assert list(answered_in_part(program.capture)) == []
    program.backwards[0] = replace(run, api="backward")
    assert list(answered_in_part(program.capture)) == []


def test_a_call_of_grad_that_returned_all_that_was_asked_for():
    """As many tensors as leaves."""
    assert list(answered_in_part(asked(2)[0].capture)) == []


def adapter():
    """A model's weight beside an adapter that an optimizer trains."""
    program = Written()
    weight, trained = program.parameter("w", grad=False), program.parameter("a")
    program.optimizer(trained)
    program.more["owners"] = {weight: 0, trained: 0}
    return program, weight, trained


def test_what_is_added_to_a_weight_in_place_or_by_way_of_a_new_tensor():
    """Both are additions of what the adapter makes, and so is what takes it out again."""
    program, weight, trained = adapter()
    delta = program.call("mul", trained, region=NO_GRAD)
    merged = program.write("add_", weight, delta)
    whole = program.call("sub", weight, delta, region=NO_GRAD)
    taken_out = program.write("copy_", weight, whole)
    additions = Additions(program.analysis)
    assert [(into, op.index) for into, op in additions.all] == [(weight, merged.index), (weight, taken_out.index)]
    assert additions.sources(weight, merged) == (trained,)


def test_writes_to_a_weight_that_add_nothing_to_it():
    """A product, a copy of other values, and what a step or the forward of a custom Function writes."""
    program, weight, trained = adapter()
    program.write("mul_", weight, trained)
    program.write("copy_", weight, trained)
    program.write("add_", weight, trained, traits=Trait.STEP)
    program.write("add_", weight, trained, traits=Trait.INNER)
    assert Additions(program.analysis).all == []


def test_additions_that_data_went_into_have_no_sources():
    """A running average of activations is no merge of an adapter."""
    program, weight, trained = adapter()
    data = program.tensor("x")
    added = program.write("add_", weight, program.call("mul", trained, data, region=NO_GRAD))
    assert Additions(program.analysis).sources(weight, added) == ()


def test_whether_a_step_used_what_a_backward_computed():
    """For each of its parameters that is asked about: of two backwards each step uses its own."""
    program = Written()
    w, x = program.parameter("w"), program.tensor("x")
    optimizer, gradient = program.optimizer(w), program.tensor()
    first = program.backward(program.call("mul", w, x))
    one = program.step(optimizer, gradient=gradient)
    second = program.backward(program.call("mul", w, x), stale=(w,))
    other = program.step(optimizer, gradient=gradient)
    sources = GradientSources(program.analysis)
    assert sources.uses(one, first, [w])
    assert sources.uses(other, second, [w])
    assert not sources.uses(one, second, [w])
    assert sources.uses(one, second, [])  # Nothing was asked about.
