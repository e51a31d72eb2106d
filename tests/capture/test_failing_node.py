"""Which node of a graph a backward failed at, held against what torch's anomaly mode says of the same program."""

from __future__ import annotations

import re
import warnings

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import autograd_inspector

LINES = re.compile(r'File "([^"]+)", line (\d+)')


def anomaly(program):
    """(name of the node, line of this file where its op ran)."""
    with warnings.catch_warnings(record=True) as caught, torch.autograd.detect_anomaly(check_nan=False):
        warnings.simplefilter("always")
        torch.manual_seed(0)
        with pytest.raises(Exception) as error:
            program()
    text = next(str(w.message) for w in caught if "Error detected in" in str(w.message))
    name = text.split("Error detected in ", 1)[1].split(".", 1)[0]
    lines = [int(line) for file, line in LINES.findall(text) if file == __file__]
    return name, lines[-1], error.type


def inspected(program):
    torch.manual_seed(0)
    with pytest.raises(Exception) as error, autograd_inspector.inspect() as inspection:
        program()
    return inspection.report.capture, error.type


def failed(capture, run=-1):
    """(name, line) of each node that is marked."""
    runs = [run for run in capture.backwards if run.error]
    return [
        (node.name.rsplit("::", 1)[-1], capture.place(capture.ops[node.op].site).lineno if node.op >= 0 else -1)
        for node in capture.graph_of(runs[run]).nodes
        if node.failed
    ]


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        h = self.layer(x).sigmoid()
        x = x + h
        h += 1.0
        return x * h


def gates():
    first, second = Gate(), Gate()
    x = first(torch.randn(2, 4))
    second(x).sum().backward()


def branches(retain=False):
    x = torch.randn(3, requires_grad=True)
    shared = x.exp()
    one = shared * x
    two = shared * one
    three = shared * x
    shared.add_(1)
    (one + three + two).sum().backward(retain_graph=retain)


def some_inputs():
    x, y = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    shared = torch.randn(3)
    early = x * shared
    late = y * shared
    shared.add_(1)
    (early + late).sum().backward(inputs=[x])


def gradient_of_what_lies_between():
    x = torch.randn(3, requires_grad=True)
    shared = torch.randn(3)
    below = x * shared
    above = below * shared
    beside = x * shared
    shared.add_(1)
    torch.autograd.grad((above + beside).sum(), below)


def second_backward():
    x = torch.randn(3, requires_grad=True)
    body = x.exp()
    body.sum().backward()
    head = body.sin()
    other = body.cos()
    (head * other).sum().backward()


def second_backward_of_the_whole():
    x = torch.randn(3, requires_grad=True)
    body = x.exp()
    loss = body.sin().sum()
    loss.backward()
    loss.backward()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, action):
        ctx.action = action
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return ctx.action(grad, ctx), None


def refuse(grad, ctx):
    raise ValueError("no")


def right(grad, ctx):
    return grad * 2


def raising():
    x = torch.randn(3, requires_grad=True)
    h = Doubled.apply(x, refuse)
    h = Doubled.apply(h, right)
    h.sum().backward()


def too_long():
    x = torch.randn(3, requires_grad=True)
    h = Doubled.apply(x, lambda grad, ctx: torch.ones(5))
    h = Doubled.apply(h, right)
    h.sum().backward()


def edited_input():
    x = torch.randn(3, requires_grad=True)
    a = x.exp()
    h = Doubled.apply(a, lambda grad, ctx: grad * ctx.saved_tensors[0])
    k = a * x
    a.add_(1)
    (h + k).sum().backward()


def computed_again():
    calls = []

    def function(x):
        if calls:
            raise OSError("again")
        calls.append(1)
        return x.exp()

    x = torch.randn(3, requires_grad=True)
    h = checkpoint(function, x.sin(), use_reentrant=True)
    h.sum().backward()


PROGRAMS = [
    gates,
    branches,
    lambda: branches(retain=True),
    some_inputs,
    gradient_of_what_lies_between,
    second_backward,
    second_backward_of_the_whole,
    raising,
    too_long,
    edited_input,
    computed_again,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__code__.co_name)
def test_the_node_that_raised_is_marked(program):
    """That one alone, although others have saved the same tensor, are of the same kind, or are freed as well."""
    name, line, error = anomaly(program)
    capture, raised = inspected(program)
    assert raised is error
    assert failed(capture) == [(name, line)]


def fails(grad):
    raise KeyError("hook")


def hook_on_an_activation():
    x = torch.randn(3, requires_grad=True)
    h = x.exp()
    h.register_hook(fails)
    h.sin().sum().backward()


def hook_on_a_parameter():
    layer = nn.Linear(3, 3)
    layer.weight.register_hook(fails)
    layer(torch.randn(2, 3)).sum().backward()


def hook_after_a_parameter():
    layer = nn.Linear(3, 3)
    layer.bias.register_post_accumulate_grad_hook(fails)
    layer(torch.randn(2, 3)).exp().sum().backward()


def hook_of_a_checkpoint():
    calls = []

    def function(x):
        if calls:
            raise OSError("again")
        calls.append(1)
        return x.exp()

    x = torch.randn(3, requires_grad=True)
    checkpoint(function, x.sin(), use_reentrant=False).cos().sum().backward()


@pytest.mark.parametrize(
    ("program", "node"),
    [
        (hook_on_an_activation, "ExpBackward0"),
        (hook_on_a_parameter, "AccumulateGrad"),
        (hook_after_a_parameter, "AccumulateGrad"),
        (hook_of_a_checkpoint, "ExpBackward0"),
    ],
)
def test_hooks_that_raise(program, node):
    """The node is marked that the gradient was about to reach, or that asked for what it had saved."""
    capture, _ = inspected(program)
    assert [name for name, _ in failed(capture)] == [node]


def test_leaf_that_had_the_hook():
    """Of several leaves the one whose hook it was."""
    capture, _ = inspected(hook_after_a_parameter)
    (node,) = [node for node in capture.graph_of(capture.backwards[0]).nodes if node.failed]
    assert capture.tensors[node.variable].shape == (3,)


def test_what_cannot_be_told_is_not_marked():
    """One function is the hook of two tensors, between which no node has saved anything: none is marked."""

    def program():
        calls = []

        def second_time(grad):
            calls.append(1)
            if len(calls) > 1:
                raise KeyError("hook")

        x = torch.randn(3, requires_grad=True)
        h = x + 1
        h.register_hook(second_time)
        k = h + 1
        k.register_hook(second_time)
        k.sum().backward()

    capture, _ = inspected(program)
    assert failed(capture) == []
