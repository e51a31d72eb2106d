"""AG108: custom autograd.Functions whose backward leaves out the gradient that it is given."""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd import Function

from .programs import diagnosed, inspected, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Swish(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return s * (1 + x * (1 - s))


class SquaredLoss(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.pow(2).sum()

    @staticmethod
    def backward(ctx, _):
        return 2 * ctx.saved_tensors[0]


def test_backward_that_ignores_what_it_is_given():
    """A backward that leaves out grad_output is wrong in the middle of a net and right where that gradient is one."""

    def loss_of(combined):
        encoder = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, combined(encoder))

    def at_the_root():
        loss_of(lambda encoder: SquaredLoss.apply(encoder(X)))

    def added():
        loss_of(lambda encoder: SquaredLoss.apply(encoder(X)) + encoder(X).abs().mean())

    def weighted():
        loss_of(lambda encoder: 0.1 * SquaredLoss.apply(encoder(X)) + encoder(X).abs().mean())

    def in_the_middle():
        loss_of(lambda encoder: Swish.apply(encoder(X)).pow(2).mean())

    diagnosed(
        in_the_middle, "AG108", "return s * (1 + x * (1 - s))", "Swish", "weight",
        severity="error", where=Swish,
    )  # fmt: skip
    diagnosed(weighted, "AG108", "return 2 * ctx", "SquaredLoss", severity="error", where=SquaredLoss)
    calm(at_the_root, added)


class Reversed(Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -torch.ones_like(grad)


class Rounded(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        passed = grad_output.new_ones(grad_output.shape, dtype=grad_output.dtype)
        passed[x.abs() > 1] = 0
        return passed


class Blocked(Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return torch.zeros_like(grad)


class Masked(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        mask = torch.ones_like(grad_output)
        mask[x.abs() > 1] = 0
        return mask * grad_output.reshape(grad_output.shape)


def test_backward_that_takes_only_the_shape():
    """`ones_like(grad)` and `grad.new_ones(...)` ignore what it holds; a mask that is multiplied by it does not."""

    def program(function):
        encoder = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, function.apply(encoder(X)).pow(2).mean() + encoder(X).abs().mean())

    for function, line in ((Reversed, "return -torch.ones_like(grad)"), (Rounded, "passed = grad_output.new_ones")):
        diagnosed(
            lambda function=function: program(function), "AG108", line, function.__name__, "weight",
            severity="error", where=function,
        )  # fmt: skip
    calm(lambda: program(Blocked), lambda: program(Masked))


def test_zeros_returned_where_others_get_gradients():
    """A Function that returns nothing but zeros is told; one whose strength grows from 0 passes a gradient on later."""

    class Reverse(Function):
        @staticmethod
        def forward(ctx, x, strength):
            ctx.strength = strength
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return -ctx.strength * grad, None

    def program(strengths):
        encoder, domain = nn.Linear(4, 3), nn.Linear(3, 1)
        optimizer = torch.optim.SGD([*encoder.parameters(), *domain.parameters()], lr=0.1)
        for strength in strengths:
            h = encoder(X)
            trained(optimizer, domain(Reverse.apply(h, strength)).pow(2).mean() + h.abs().mean())

    def told(strengths):
        report = inspected(lambda: program(strengths), values=True)
        assert {finding.severity for finding in report.findings} <= {"info"}, summary(report)
        return [(finding.rule, finding.subjects[0]) for finding in report.findings]

    assert told([0.0, 0.0]) == [("AG108", "Reverse")]
    assert told([0.0, 0.5]) == []
