"""What a combined gradient is a sum of, which sign an operand has, and steps that lie between a tensor and a loss."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograd_inspector.analysis.gradients.stacked import entries_of
from autograd_inspector.analysis.gradients.through_steps import step_between
from autograd_inspector.analysis.gradients.turned import adds_turned, factor_of, sign_of
from autograd_inspector.analysis.gradients.zero_slopes import zero_slopes

from .written import Written


def test_a_slice_of_a_stack_shows_the_rows_that_it_covers():
    """Of two rows the first slice shows one, and a slice of a slice as well; the whole stack is no slice."""
    program = Written()
    one, other = program.tensor(), program.tensor()
    stack = program.call("stack", one, other, shape=(2, 4))
    second = program.call("__getitem__", stack, shape=(1, 4))
    row = program.call("__getitem__", second, shape=(4,))
    for view in (second, row):
        program.tensors[view] = replace(program.tensors[view], storage=program.tensors[stack].storage, offset=16)
    analysis = program.analysis
    assert [tensor for tensor, _ in entries_of(analysis, second, 9) or ()] == [other]
    assert [tensor for tensor, _ in entries_of(analysis, row, 9) or ()] == [other]
    assert entries_of(analysis, stack, 9) is None
    assert entries_of(analysis, one, 9) is None


def test_rows_of_another_axis_are_not_told_apart():
    """Stacked along the last axis, a slice covers bytes of all of them."""
    program = Written()
    stack = program.call("stack", program.tensor(), program.tensor(), shape=(4, 2))
    column = program.call("__getitem__", stack, shape=(2,))
    assert entries_of(program.analysis, column, 9) is None


@pytest.mark.parametrize(("given", "sign"), [({}, 1), ({0: {"1": -1.0}}, -1), ({1: {"alpha": -0.1}}, -1)])
def test_the_sign_of_a_gradient_in_what_it_moves(given, sign):
    """`p.add_(rate * g)` goes up the gradient; a negative rate, or a negative `alpha`, goes down."""
    program = Written()
    p, gradient = program.parameter(), program.tensor()
    move = program.call("mul", gradient)
    moved = program.write("add_", p, move)
    program.more["given"] = given
    analysis = program.analysis
    assert sign_of(analysis, moved, {gradient, move}, 0) == sign
    assert factor_of(analysis, analysis.capture.ops[0]) == given.get(0, {}).get("1", 1.0)
    assert adds_turned(analysis, moved) == (1 in given)


def test_signs_that_are_not_known():
    """Of a square nothing is known; of a difference that of its second operand is turned."""
    program = Written()
    p, gradient = program.parameter(), program.tensor()
    square = program.call("pow", gradient)
    added, subtracted = program.write("add_", p, square), program.write("sub_", p, gradient)
    assert sign_of(program.analysis, added, {gradient, square}, 0) == 0
    assert sign_of(program.analysis, subtracted, {gradient, square}, 0) == -1


def test_a_step_between_a_tensor_and_a_loss():
    """The loss of the weight moves the parameter, which the second loss reads; another tensor has no part in it."""
    program = Written()
    w, weight, other = program.parameter(), program.tensor(grad=True), program.tensor(grad=True)
    optimizer, gradient = program.optimizer(w), program.tensor()
    program.backward(program.call("mul", w, weight))
    step = program.step(optimizer, gradient=gradient)
    run = program.backward(program.call("pow", w))
    analysis = program.analysis
    assert step_between(analysis, run, weight) == step
    assert step_between(analysis, run, other) is None


@pytest.mark.parametrize("past", [False, True])
def test_slopes_that_lead_to_an_input_through_bends_alone(past):
    """The second derivative is zero where each way to x is the last edge of such a slope; another way makes it none."""
    program = Written()
    x, w = program.tensor(grad=True), program.parameter()
    bent = program.call("relu", program.call("mul", x, w))
    slope = program.call("mul", bent)
    program.nodes[-1] = replace(program.nodes[-1], name="ThresholdBackwardBackward0")
    first = program.call("mul", slope, x) if past else slope
    start = len(program.ops)
    derivative = program.call("grad", first)
    run = program.backward(first, api="grad", reached=(x,), start=start, end=start)
    loss = program.backward(program.call("mul", derivative, w))
    found = list(zero_slopes(program.analysis))
    assert [(each.run, [op.name for op in each.bends], each.loss) for each in found] == (
        [] if past else [(run, ["relu"], loss)]
    )
