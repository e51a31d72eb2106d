"""AG108: the backward of one call of a Function computes with what another call of it kept."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import nn
from torch.autograd import Function

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def program(function, calls=3):
    layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(calls))
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)

    def run():
        for _ in range(2):
            h = X
            for layer in layers:
                h = function.apply(layer(h))
            optimizer.zero_grad()
            h.pow(2).mean().backward()
            optimizer.step()

    return run


class Kept:
    """Where the Functions below put what they need."""


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        Kept.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad * Kept.x


class Tanh(Function):
    @staticmethod
    def forward(ctx, x):
        Kept.y = torch.tanh(x)
        return Kept.y.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * (1 - Kept.y**2)


class OnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = torch.tanh(x)
        return ctx.y.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * (1 - ctx.y**2)


class Stack(Function):
    kept: ClassVar[list[torch.Tensor]] = []

    @staticmethod
    def forward(ctx, x):
        Stack.kept.append(torch.tanh(x))
        return Stack.kept[-1].clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * (1 - Stack.kept.pop() ** 2)


class Table(Function):
    kept = None

    @staticmethod
    def forward(ctx, x):
        if Table.kept is None:
            Table.kept = torch.linspace(0.5, 1, 4)
        return x * Table.kept

    @staticmethod
    def backward(ctx, grad):
        return grad * Table.kept


class TableEachTime(Function):
    kept = None

    @staticmethod
    def forward(ctx, x):
        TableEachTime.kept = torch.linspace(0.5, 1, x.shape[-1])
        return x * TableEachTime.kept

    @staticmethod
    def backward(ctx, grad):
        return grad * TableEachTime.kept


class Counting(Function):
    """It reads what the last call made, for a statistic alone."""

    largest = 0.0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        Kept.z = x * x
        return Kept.z.clone()

    @staticmethod
    def backward(ctx, grad):
        Counting.largest = max(Counting.largest, Kept.z.amax().item())
        return 2 * grad * ctx.saved_tensors[0]


def test_what_forward_was_given():
    """Its input, kept where the next call keeps its own."""
    diagnosed(
        program(Square), "AG108", "2 * grad * Kept.x", "save_for_backward", severity="error", where=Square.backward
    )


def test_what_forward_made():
    """Its result, kept the same way: the line that made it is named first."""
    diagnosed(program(Tanh), "AG108", "Kept.y = torch.tanh", "Tanh.backward", severity="error", where=Tanh.forward)


def test_look_alikes():
    """One call alone; what is kept for each call, or for all of them; what goes into no gradient."""
    calm(
        program(Square, calls=1),
        program(OnCtx),
        program(Stack),
        program(Table),
        program(TableEachTime),
        program(Counting),
    )
