"""AG108: the gradient that a custom backward is given may be another branch's as well."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.autograd import Function

from .programs import diagnosed, inspected, line_of, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Passed(Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)


class Negates(Passed):
    @staticmethod
    def backward(ctx, gradient):
        return gradient.neg_()


class Masks(Passed):
    @staticmethod
    def backward(ctx, gradient):
        rows = gradient
        rows[:4] = 0
        return rows


class MasksView(Passed):
    @staticmethod
    def backward(ctx, gradient):
        gradient.view(-1)[:4].zero_()
        return gradient


class NegatesCopy(Passed):
    @staticmethod
    def backward(ctx, gradient):
        return gradient.clone().neg_()


class Scales(Passed):
    @staticmethod
    def backward(ctx, gradient):
        return (gradient * 3).neg_().mul_(2)


def looped(loss_of):
    one, other = nn.Linear(4, 4), nn.Linear(4, 4)
    optimizer = torch.optim.SGD([*one.parameters(), *other.parameters()], lr=0.1)
    for _ in range(2):
        trained(optimizer, loss_of(one, other))


SHARING = {
    "sum": lambda function: lambda one, other: (torch.tanh(other(X)) + function.apply(one(X))).pow(2).mean(),
    "residual": lambda function: lambda one, other: (X.clone() + other(X) + function.apply(one(X))).pow(2).mean(),
}
"""The other branch comes later in backward."""
APART = {
    "sum": lambda function: lambda one, other: (function.apply(one(X)) + other(X)).pow(2).mean(),
    "product": lambda function: lambda one, other: (function.apply(one(X)) * other(X)).mean(),
    "chain": lambda function: lambda one, other: other(function.apply(one(X))).pow(2).mean(),
    "broadcast": lambda function: lambda one, other: (function.apply(one(X)) + other(X[:1])).pow(2).mean(),
    "stacked": lambda function: lambda one, other: torch.stack([function.apply(one(X)), other(X)]).pow(2).mean(),
}
"""The other branch has a gradient of its own, or has used it already."""


@pytest.mark.parametrize("function", [Negates, Masks, MasksView])
@pytest.mark.parametrize("sharing", SHARING)
def test_gradient_of_two_branches(function, sharing):
    """A sum hands one tensor to both of its operands."""
    culprit = {Negates: "neg_()", Masks: "rows[:4] = 0", MasksView: "zero_()"}[function]
    found = diagnosed(
        lambda: looped(SHARING[sharing](function)), "AG108", culprit, function.__name__, severity="error",
        where=function.backward,
    )  # fmt: skip
    assert "clone()" in found.fix


@pytest.mark.parametrize("function", [NegatesCopy, Scales])
@pytest.mark.parametrize("loss", SHARING)
def test_tensors_of_the_backwards_own(function, loss):
    """What it made itself it may modify."""
    calm(lambda: looped(SHARING[loss](function)))
    assert not inspected(lambda: looped(SHARING[loss](function))).findings


@pytest.mark.parametrize("loss", APART)
def test_gradient_that_nobody_else_gets(loss):
    """It is right, and stands on one leg."""
    report = inspected(lambda: looped(APART[loss](Negates)))
    assert [(f.rule, f.severity) for f in report.findings] == [("AG108", "info")], summary(report)
    assert report.findings[0].locations[0].lineno == line_of(Negates.backward, "neg_()")


def test_gradient_that_the_caller_gave():
    """The first gradient of a run is the caller's, not another branch's."""

    def program():
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            Negates.apply(net(X)).backward(torch.ones(8, 4))
            optimizer.step()

    assert [(f.rule, f.severity) for f in inspected(program).findings] == [("AG108", "info")]


def test_second_derivatives():
    """What autograd saved for them it checks itself."""

    def program():
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        out = Scales.apply(net(X)) + torch.tanh(net(X))
        (first,) = torch.autograd.grad(out.pow(2).mean(), net.weight, create_graph=True)
        trained(optimizer, first.pow(2).sum())

    calm(program)


def test_gradients_without_a_count(monkeypatch):
    """Where torch does not tell who else has it, nothing is claimed."""
    monkeypatch.setattr("autograd_inspector.capture.observers.calls.custom_backward.holders_of", lambda _: 0)
    assert [f.severity for f in inspected(lambda: looped(SHARING["sum"](Negates))).findings] == ["info"]
