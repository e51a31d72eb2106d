"""AG108: the backward of a Function of several outputs leaves out the gradient of one that a loss is computed from."""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd import Function

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Halves(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * x, x.pow(2).mean()

    @staticmethod
    def backward(ctx, grad, grad_cost):
        half = 0.5
        return half * grad


class Both(Halves):
    @staticmethod
    def backward(ctx, grad, grad_cost):
        (x,) = ctx.saved_tensors
        return 0.5 * grad + grad_cost * 2 * x / x.numel()


class Marked(Halves):
    @staticmethod
    def forward(ctx, x):
        cost = x.pow(2).mean()
        ctx.mark_non_differentiable(cost)
        return 0.5 * x, cost

    @staticmethod
    def backward(ctx, grad, _):
        return 0.5 * grad


class AnyNumber(Halves):
    @staticmethod
    def backward(ctx, *grads):
        return 0.5 * grads[0]


def program(function, used):
    layer, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)

    def run():
        for _ in range(2):
            out, cost = function.apply(layer(X))
            optimizer.zero_grad()
            (head(out).pow(2).mean() + (0.1 * cost if used else 0)).backward()
            optimizer.step()

    return run


def test_a_second_output_is_left_out():
    """The line that computes what is returned is named, and what learns nothing from the output."""
    diagnosed(
        program(Halves, used=True),
        "AG108",
        "return half * grad",
        "output 2",
        "weight",
        severity="warning",
        where=Halves.backward,
    )


def test_look_alikes():
    """Both are used; no loss depends on the second; it is marked; which gradients are read is not known."""
    calm(
        program(Both, used=True),
        program(Halves, used=False),
        program(Marked, used=True),
        program(AnyNumber, used=True),
    )
