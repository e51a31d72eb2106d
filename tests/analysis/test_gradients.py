"""Where the gradients that a step uses come from: cleared, read, combined, cut off on the way."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograd_inspector.analysis.gradients.cancelling import cancelling
from autograd_inspector.analysis.gradients.clearing import cleared_before, clearings, clearings_of_others, renewed
from autograd_inspector.analysis.gradients.hooks_not_copied import hooks_not_copied
from autograd_inspector.analysis.gradients.read_sums import read_sums
from autograd_inspector.analysis.gradients.targets import trained_targets
from autograd_inspector.analysis.gradients.terms import terms_of
from autograd_inspector.analysis.gradients.within_backward import cuts_within
from autograd_inspector.analysis.gradients.zero_factors import zero_factors
from autograd_inspector.model.event import GradRead, GradWrite, RequiresGradChanged, TensorHook
from autograd_inspector.model.op import ModuleCall, Trait
from autograd_inspector.model.program_events import ZeroGradCalled

from .written import Written


def cleared(program, optimizer, *, site=-1):
    """The program calls zero_grad() of an optimizer."""
    call = ZeroGradCalled(len(program.ops), program.site() if site < 0 else site, optimizer, "SGD")
    program.more["events"] = (*program.more.get("events", ()), call)
    return call


def read(program, tensor, gradient):
    """The program reads the ``.grad`` of a parameter."""
    reading = GradRead(len(program.ops), tensor, gradient, program.site(), leaf=True)
    program.more["grad_reads"] = (*program.more.get("grad_reads", ()), reading)


def assigned(program, tensor, gradient):
    """The program assigns the ``.grad`` of a parameter."""
    write = GradWrite(len(program.ops), tensor, gradient, program.site())
    program.more["grad_writes"] = (*program.more.get("grad_writes", ()), write)


# --- cleared ---


def test_clearings_are_those_of_optimizers_that_hold_a_parameter():
    """Those of others are told apart, the last call of each line before a moment."""
    program = Written()
    w, v = program.parameter("w"), program.parameter("v")
    of_w, of_v = program.optimizer(w), program.optimizer(v)
    first = cleared(program, of_w)
    program.call("pow", w)
    other = cleared(program, of_v)
    analysis = program.analysis
    assert clearings(analysis, [w], 0, 9) == [first]
    assert clearings(analysis, [w, v], 0, 9) == [first, other]
    assert clearings(analysis, [w], 1, 9) == []
    assert clearings_of_others(analysis, [w], 9) == [other]
    assert clearings_of_others(analysis, [w], 0) == []


@pytest.mark.parametrize("how", ["zero_grad", "assigned", "zero_", "no"])
def test_gradients_are_renewed_between_a_step_and_a_backward(how):
    """By zero_grad(), by an assignment, or by a write in place; without any of these they are not."""
    program = Written()
    w, gradient = program.parameter(), program.tensor()
    optimizer = program.optimizer(w)
    loss = program.call("pow", w)
    read(program, w, gradient)
    if how == "zero_grad":
        cleared(program, optimizer)
    elif how == "assigned":
        assigned(program, w, -1)
    elif how == "zero_":
        program.write("zero_", gradient)
    run = program.backward(loss)
    assert renewed(program.analysis, [w], 0, run) is (how != "no")


@pytest.mark.parametrize(
    ("how", "known"), [("zero_grad", True), ("set to None", True), ("zero_", True), ("copy_", False)]
)
def test_what_cleared_all_gradients_of_a_backward_before_the_step(how, known):
    """Its site; a write that leaves something there is no clearing."""
    program = Written()
    w, gradient, other = program.parameter(), program.tensor(), program.tensor()
    optimizer = program.optimizer(w)
    run = program.backward(program.call("pow", w))
    read(program, w, gradient)
    program.call("sum", other, shape=(), grad=False)
    if how == "zero_grad":
        site = cleared(program, optimizer).site
    elif how == "set to None":
        assigned(program, w, -1)
        site = program.more["grad_writes"][-1].site
    else:
        site = program.write(how, gradient, *([other] if how == "copy_" else [])).site
    step = program.step(optimizer, gradient=gradient if how.endswith("_") else -1)
    assert cleared_before(program.analysis, step, {w}, run) == (site if known else None)


def test_a_backward_that_only_some_gradients_of_were_cleared():
    """The step uses the others: nothing cleared them all."""
    program = Written()
    w, v, gradient = program.parameter("w"), program.parameter("v"), program.tensor()
    optimizer = program.optimizer(w, v)
    run = program.backward(program.call("add", w, v))
    assigned(program, w, -1)
    step = program.steps_with(optimizer, {w: -1, v: gradient})
    assert cleared_before(program.analysis, step, {w, v}, run) is None


# --- read and combined ---


def readings(program, count):
    """A gradient that the program reads so many times, each time with another value, by copies of it."""
    gradient = program.tensor("g")
    copies, spans = [], []
    for _ in range(count):
        start = len(program.ops)
        copies.append(program.call("clone", gradient))
        spans.append((gradient, start, len(program.ops)))
    return copies, spans


@pytest.mark.parametrize(
    ("name", "terms"),
    [("add", {0, 1}), ("stack", {0, 1}), ("sub", set()), ("where", {0})],
)
def test_the_readings_that_a_combination_is_a_sum_of(name, terms):
    """A difference of two is a gradient of its own, and of a choice one is put in place of the other."""
    program = Written()
    (one, other), spans = readings(program, 2)
    inputs = (program.tensor(dtype="bool"), one, other) if name == "where" else (one, other)
    made = program.call(name, *inputs, shape=(4,))
    assert terms_of(program.analysis, [(made, 9)], spans) == terms


def test_a_norm_of_a_reading_scales_a_sum_and_is_no_term_of_it():
    """A product counts by the factor of its own shape."""
    program = Written()
    (one, other), spans = readings(program, 2)
    scaled = program.call("mul", other, program.call("norm", one, shape=()))
    assert terms_of(program.analysis, [(scaled, 9)], spans) == {1}


def surgery(*, clears, assigns=False):
    """Two backwards whose gradients the program reads and adds, for a step to use."""
    program = Written()
    w, gradient = program.parameter(), program.tensor("g")
    optimizer = program.optimizer(w)
    taken = []
    for number in range(2):
        program.backward(program.call("pow", w), stale=(w,) if number and not clears else ())
        read(program, w, gradient)
        taken.append(program.call("clone", gradient))
        if clears:
            program.call("sum", w, shape=(), grad=False)
            cleared(program, optimizer)
        if assigns:
            assigned(program, w, gradient)
    combined = program.call("add", *taken)
    assigned(program, w, combined)
    program.step(optimizer, gradient=combined)
    return program.analysis


def test_a_sum_of_gradients_of_which_one_holds_the_other():
    """Where nothing cleared the first one, the second reading has both; what was assigned in between is meant."""
    [found] = read_sums(surgery(clears=False))
    assert (found.earlier.run.index, found.later.run.index, found.tensor) == (0, 1, 0)
    assert list(read_sums(surgery(clears=True))) == []
    assert list(read_sums(surgery(clears=False, assigns=True))) == []


# --- what gets none ---


def product(*, zeroed=True, frozen=True, steps=True, name="matmul"):
    """A matrix that is zeroed and frozen, and is then a factor of a product."""
    program = Written()
    up, w = program.parameter("up", grad=not frozen, shape=(4, 4)), program.parameter("w", shape=(4, 4))
    program.write("zero_" if zeroed else "uniform_", up)
    if frozen:
        program.more["requires_grad_changes"] = (
            RequiresGradChanged(len(program.ops), up, requires_grad=False, site=-1),
        )
    program.call(name, w, up, shape=(4, 4))
    if steps:
        program.step(program.optimizer(w))
    return [(each.tensor, each.product.name) for each in zero_factors(program.analysis)]


def test_a_frozen_factor_of_zeros():
    """What it multiplies adds nothing for good; one that learns, or has values, does, and a sum is no product."""
    assert product() == [(0, "matmul")]
    assert product(zeroed=False) == []
    assert product(frozen=False) == []
    assert product(steps=False) == []
    assert product(name="add") == []


def distillation(*, target_mode, input_mode=True, shared=False):
    """A loss between a student and a target that another module computed with a graph."""
    program = Written()
    student, teacher = program.parameter("s"), program.parameter("t")
    program.more["calls"] = (
        ModuleCall(0, "student", "Linear", training=input_mode),
        ModuleCall(1, "teacher", "Linear", training=target_mode),
    )
    answer = program.call("linear", student, teacher) if shared else program.call("linear", student)
    target = program.call("linear", teacher)
    program.ops[-2] = replace(program.ops[-2], call=0)
    program.ops[-1] = replace(program.ops[-1], call=1)
    program.backward(program.call("cross_entropy", answer, target, shape=()))
    program.step(program.optimizer(student, teacher), gradient=program.tensor())
    return list(trained_targets(program.analysis))


def test_parameters_that_learn_from_a_target_alone():
    """A module in eval mode, beside one in train mode, was to be the target; a second player trains as well."""
    [found] = distillation(target_mode=False)
    assert (found.tensors, found.op.name, found.use.name) == ((1,), "cross_entropy", "linear")
    assert distillation(target_mode=True) == []
    assert distillation(target_mode=False, input_mode=False) == []
    assert distillation(target_mode=False, shared=True) == []


def difference(second):
    """(values + advantage) - what ``second`` makes of the parameter and the values."""
    program = Written()
    w, advantage = program.parameter(), program.tensor("a")
    values = program.call("tanh", w, line=5)
    returns = program.call("add", values, advantage)
    other = {
        "the same": lambda: values,
        "anew": lambda: program.call("tanh", w, line=5),
        "another": lambda: program.call("exp", w),
        "detached": lambda: program.call("detach", values),
    }[second]()
    program.backward(program.call("sub", returns, other))
    program.step(program.optimizer(w), gradient=program.tensor())
    return list(cancelling(program.analysis))


@pytest.mark.parametrize(("second", "cancels"), [("the same", True), ("another", False), ("detached", False)])
def test_a_difference_whose_gradient_cancels(second, cancels):
    """What stands in it with a plus and a minus gets none; what was detached, or computed otherwise, stays."""
    found = difference(second)
    assert [(each.op.name, each.parameters) for each in found] == ([("sub", (0,))] if cancels else [])


def test_a_value_that_was_computed_anew_cancels_as_well():
    """The same line computed it of the same parameter: the later op is named."""
    [found] = difference("anew")
    assert (found.again.index, set(found.terms)) == (2, {2, 4})


def second_order(*, create_graph=True, again=True, name="detach"):
    """A custom backward that cuts what it computes with, in a run whose gradient is differentiated later."""
    program = Written()
    w = program.parameter()
    made = program.call("apply", w, traits=Trait.FUNCTION)
    site = program.site(line=7, function="backward")
    program.more["function_sites"] = {"Square": site}
    start = len(program.ops)
    cut = program.call(name, made, line=7, function="backward", traits=Trait.BACKWARD | Trait.CUT, grad=False)
    gradient = program.call("mul", cut, made, line=8, function="backward", traits=Trait.BACKWARD)
    run = program.backward(made, create_graph=create_graph)
    program.backwards[-1] = replace(run, start=start)
    if again:
        program.backward(program.call("sum", gradient, shape=()))
    return list(cuts_within(program.analysis))


def test_a_custom_backward_that_cuts_what_is_differentiated_again():
    """With create_graph=True and a later run through it; without either there is no second derivative."""
    [found] = second_order()
    assert (found.cut.name, found.function, found.again.index) == ("detach", "Square", 1)
    assert second_order(create_graph=False) == []
    assert second_order(again=False) == []
    assert second_order(name="mul") == []


@pytest.mark.parametrize("how", ["copied", "computed", "hooked too", "both learn", "registered later"])
def test_a_hook_of_which_only_a_copy_is_trained(how):
    """The copy has none of its own, and no backward reaches the original; other values than a copy's are no copy."""
    program = Written()
    original = program.parameter("template.w")
    data = program.call("detach", original)
    made = program.call("clone" if how != "computed" else "neg", data)
    copied = program.tensor("w", kind="parameter", grad=True, of=made)
    hook = TensorHook(99 if how == "registered later" else 0, original, -1)
    hooks = (hook, TensorHook(2, copied, -1)) if how == "hooked too" else (hook,)
    program.more["tensor_hooks"] = hooks
    optimizer = program.optimizer(copied)
    program.backward(program.call("sum", program.call("tanh", copied), shape=()))
    if how == "both learn":
        program.backward(program.call("sum", program.call("tanh", original), shape=()))
    program.step(optimizer, gradient=program.tensor())
    found = [(each.hook, each.copied.name, each.copies) for each in hooks_not_copied(program.analysis)]
    assert found == ([(hook, "clone", (copied,))] if how == "copied" else [])
