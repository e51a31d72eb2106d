"""AG108: a custom backward returns two gradients of one shape in each other's place."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from .programs import diagnosed
from .twins import calm


def function(forward, backward):
    """A Function that saves its inputs; ``backward`` is given the gradient and these."""

    class Fused(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            return backward(grad, *ctx.saved_tensors)

    return Fused


def program(fused, count=2):
    layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(count))
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))

    def run():
        fused.apply(*(layer(x) for layer in layers)).pow(2).sum().backward()

    return run


def silu_gradients(grad, gate, up):
    s = torch.sigmoid(gate)
    return grad * up * (s + gate * s * (1 - s)), grad * gate * s


FORWARDS = {
    "product": (lambda a, b: a * b, lambda g, a, b: (g * b, g * a)),
    "gate": (lambda gate, up: F.silu(gate) * up, silu_gradients),
    "quotient": (lambda a, b: a / b, lambda g, a, b: (g / b, -g * a / b**2)),
    "squared": (lambda a, b: a.pow(2) + 3 * b, lambda g, a, b: (2 * a * g, 3 * g)),
}


@pytest.mark.parametrize("name", FORWARDS)
def test_two_gradients_exchanged(name):
    """Each was computed with an input that the derivative by its own argument does not depend on."""
    forward, backward = FORWARDS[name]
    sick = program(function(forward, lambda *given: backward(*given)[::-1]))
    diagnosed(
        sick, "AG108", "return backward(", "arguments 1 and 2", "each other's place", severity="error", where=function
    )
    calm(program(function(forward, backward)))


def test_two_of_three():
    """The third gradient stands where it should."""

    def forward(x, w, b):
        return x * w + b

    sick = program(function(forward, lambda g, x, w, b: (g * x, g * w, g)), 3)
    diagnosed(sick, "AG108", "return backward(", "arguments 1 and 2", severity="error", where=function)
    calm(program(function(forward, lambda g, x, w, b: (g * w, g * x, g)), 3))


def test_computed_from_the_result():
    """``out / a`` is ``b`` as well: a gradient may be computed with more than it depends on."""
    calm(program(function(lambda a, b: a * b, lambda g, a, b: (g * (a * b) / a, g * (a * b) / b))))


def test_of_one_meaning():
    """Where both derivatives depend on the same, nothing tells which is which."""
    calm(
        program(function(torch.add, lambda g, a, b: (g, g))),
        program(function(lambda a, b: (a * b).exp(), lambda g, a, b: (g * (a * b).exp() * b, g * (a * b).exp() * a))),
    )


def test_surrogate_gradients():
    """A straight-through estimator, and a penalty beside an identity, are no derivatives, and nobody mistook them."""
    calm(
        program(function(lambda x, scale: (x / scale).round() * scale, lambda g, x, scale: (g, g * (x / scale)))),
        program(function(lambda x, y: x + y, lambda g, x, y: (g + 0.1 * x.sign(), g))),
        program(function(lambda x, y: x.clone() + y, lambda g, x, y: (g * (x.abs() < 1), g * y.sigmoid()))),
    )


def test_memory_written_in_parts():
    """What is written into a part of a result is part of the whole."""

    def forward(a, b):
        out = torch.empty(a.shape)
        out[:, :2] = a[:, :2] * b[:, :2]
        out[:, 2:].copy_(b[:, 2:] * a[:, 2:])
        return out

    calm(program(function(forward, lambda g, a, b: (g * b, g * a))))


def test_one_tensor_for_two_arguments():
    """A tensor that is multiplied by itself gets both."""
    fused = function(lambda a, b: a * b, lambda g, a, b: (g * a, g * b))
    x = torch.ones(3, requires_grad=True)
    calm(lambda: fused.apply(x, x).sum().backward())


def recomputed(forward, order):
    """A Function that computes forward again in backward, and returns in that order what autograd.grad tells."""

    class Recomputed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            with torch.enable_grad():
                inputs = [tensor.detach().requires_grad_() for tensor in ctx.saved_tensors]
                gradients = torch.autograd.grad(forward(*inputs), inputs, grad)
            return tuple(gradients[at] for at in order)

    return Recomputed


def test_gradients_that_autograd_computed():
    """A backward that asks autograd.grad for them: which is whose is known, whatever forward computes."""

    def forward(a, b):
        return (a.exp() + b).cumsum(0) / (a + b.exp()).pow(2)

    diagnosed(
        program(recomputed(forward, (1, 0))),
        "AG108",
        "return tuple(",
        "arguments 1 and 2",
        "autograd.grad",
        severity="error",
        where=recomputed,
    )
    calm(program(recomputed(forward, (0, 1))))
