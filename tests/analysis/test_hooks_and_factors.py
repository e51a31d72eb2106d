"""Hooks that a loop or a load leaves behind, factors that are both zero, and ratios under two masks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograd_inspector.analysis.gradients.hooks_left_behind import hooks_lost_in_loads
from autograd_inspector.analysis.gradients.reversed_for_all import reversed_for_all
from autograd_inspector.analysis.gradients.stuck_products import stuck_products
from autograd_inspector.analysis.modules.late_hooks import late_hooks
from autograd_inspector.analysis.modules.masked_ratios import masked_ratios
from autograd_inspector.analysis.modules.moving_samples import moving_samples
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.op import ModuleCall, Trait
from autograd_inspector.model.program_events import HooksLost, ModuleHookRegistered

from .written import NO_GRAD, Written


@pytest.mark.parametrize("how", ["late", "called between", "never called", "unchanged"])
def test_forward_hooks_that_share_a_variable(how):
    """Registered one after the other, with another value each time, and called afterwards."""
    program = Written()
    site = program.site()
    program.call("relu", program.tensor())
    program.call("relu", program.tensor())

    def hook(at, changed):
        return ModuleHookRegistered(at, site, "Linear", "hook", "register_forward_hook", f"{at}", changed=changed)

    program.more["events"] = (hook(0, ()), hook(1, () if how == "unchanged" else ("name",)))
    at = {"called between": 0, "never called": -1}.get(how, 2)
    program.more["calls"] = (ModuleCall(0, "1", "Linear", 0, at=at),) if at >= 0 else ()
    assert [[each.at for each in group] for group in late_hooks(program.analysis)] == (
        [[0, 1]] if how == "late" else []
    )


@pytest.mark.parametrize("how", ["lost", "hooked again", "not trained"])
def test_hooks_that_a_load_leaves_behind(how):
    """The new parameter learns, and nobody registers the hook on it."""
    program = Written()
    old, new = program.parameter("old"), program.parameter("new")
    hook, again = TensorHook(0, old, program.site()), TensorHook(1, new, program.site())
    program.more["tensor_hooks"] = (hook, again) if how == "hooked again" else (hook,)
    program.more["events"] = (HooksLost(0, program.site(), "Net", ((old, new),)),)
    out = program.call("tanh", new if how != "not trained" else old)
    program.backward(program.call("sum", out, shape=()))
    found = [(each.hook, each.tensors) for each in hooks_lost_in_loads(program.analysis)]
    assert found == ([(hook, (new,))] if how == "lost" else [])


@pytest.mark.parametrize("how", ["both", "one", "another way", "no parameter"])
def test_factors_that_are_both_zero(how):
    """Both are parameters that began as zeros, and no other way leads to them."""
    program = Written()
    one, other = program.parameter("a"), program.parameter("b")
    for factor in (one, other) if how != "one" else (one,):
        program.write("zero_", factor)
    batch = program.call("zeros") if how == "no parameter" else other
    inner = program.call("mul", program.tensor(), batch)
    product = program.call("mul", inner, one)
    if how == "another way":
        product = program.call("add", product, one)
    program.backward(program.call("sum", product, shape=()))
    found = [each.pairs for each in stuck_products(program.analysis)]
    assert found == ([((other, one),)] if how == "both" else [])


@pytest.mark.parametrize("how", ["reversed", "used afterwards", "scaled"])
def test_a_hook_that_reverses_what_was_used_before(how):
    """One use before the hook and one after, both on the way of the backward; the hook changes the sign."""
    program = Written()
    weight = program.parameter()
    shared = program.call("tanh", weight)
    first = program.call("relu", shared)
    at = 1 if how == "used afterwards" else 2
    program.more["tensor_hooks"] = (TensorHook(at, shared, program.site(), "hook"),)
    loss = program.call("sum", program.call("add", first, program.call("sigmoid", shared)), shape=())
    start = len(program.ops)
    name = "neg" if how != "scaled" else "clamp"
    program.call(name, program.tensor(), traits=Trait.BACKWARD, function="hook", recorded=False)
    program.backward(loss, start=start, end=len(program.ops))
    found = [(each.before.index, each.after.index, each.reverses.name) for each in reversed_for_all(program.analysis)]
    assert found == ([(1, 2, "neg")] if how == "reversed" else [])


def ratio(*, old_mask=True, same=True, difference=True):
    program = Written()
    weight, x = program.parameter(), program.tensor()
    drawn = []
    for region, masked in ((NO_GRAD, old_mask), (0, True)):
        hidden = program.call("mul", x, weight, region=region)
        drawn.append(program.call("dropout", hidden, region=region, traits=Trait.DRAWS if masked else Trait.EVALUATES))
    old, new = drawn
    program.ops = [
        replace(each, call=at // 2) if each.name == "dropout" else each for at, each in enumerate(program.ops)
    ]
    program.more["calls"] = (ModuleCall(0, "", "Net", 0), ModuleCall(1, "" if same else "other", "Net", 0))
    between = program.call("sub" if difference else "add", new, old)
    program.backward(program.call("sum", program.call("exp", between), shape=()))
    return [(each.old.id, each.new.id) for each in masked_ratios(program.analysis)]


def test_ratio_of_what_two_masks_left():
    """A difference of two results of one module, of which both were computed with values dropped."""
    assert ratio() == [(0, 1)]
    assert ratio(old_mask=False) == []
    assert ratio(same=False) == []
    assert ratio(difference=False) == []


def test_samples_without_moving_statistics():
    """Where no norm keeps statistics there is nothing to move."""
    program = Written()
    x = program.tensor()
    results = [program.call("dropout", x, traits=Trait.DRAWS, region=NO_GRAD) for _ in range(3)]
    program.inside(0)
    program.more["calls"] = (ModuleCall(0, "", "Net", 0),)
    program.call("stack", *results, region=NO_GRAD)
    assert list(moving_samples(program.analysis)) == []
