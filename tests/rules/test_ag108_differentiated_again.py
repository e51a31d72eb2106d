"""AG108: a custom backward that cuts what it computes with, and is differentiated itself."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))


class Detaching(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x.detach() * grad  # cut


class Right(Detaching):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        x.detach().norm().item()
        return 2 * x * grad


class Hinge(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.detach() > 0)


class Saving(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        gate = torch.sigmoid(x)  # saved
        ctx.save_for_backward(x, gate)
        return x * gate

    @staticmethod
    def backward(ctx, grad):
        x, gate = ctx.saved_tensors
        return grad * (gate + x * gate * (1 - gate))


class Keeping(torch.autograd.Function):
    """What is computed of the kept value is returned at once."""

    @staticmethod
    def forward(ctx, x):
        ctx.positive = x.clamp(min=0)  # kept
        return ctx.positive * ctx.positive

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * ctx.positive


class KeepingAMask(torch.autograd.Function):
    """The derivative of the mask is zero."""

    @staticmethod
    def forward(ctx, x):
        ctx.mask = (x > 0).float()
        return x * ctx.mask

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.mask


class Recomputing(Saving):
    @staticmethod
    def backward(ctx, grad):
        x, _ = ctx.saved_tensors
        gate = torch.sigmoid(x)
        return grad * (gate + x * gate * (1 - gate))


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]


def penalised(function, *, again=True):
    net = nn.Linear(3, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        x = X.clone().requires_grad_()
        value = function.apply(net(x)).sum()
        slope = torch.autograd.grad(value, x, create_graph=again, retain_graph=True)[0]
        trained(optimizer, value + (slope.pow(2).sum() if again else 0.0))


def test_second_derivative_of_a_detached_tensor():
    """A gradient penalty through it misses a part; with the tensor itself nothing is missed."""
    diagnosed(
        lambda: penalised(Detaching), "AG108", "# cut", "Detaching", "create_graph", severity="warning",
        where=Detaching.backward,
    )  # fmt: skip
    calm(lambda: penalised(Right))


def test_cuts_that_no_second_derivative_misses():
    """It is not differentiated again, or the derivative of what was computed of the detached tensor is zero."""
    calm(lambda: penalised(Detaching, again=False), lambda: penalised(Hinge))


def test_second_derivative_of_what_forward_computed():
    """Saved for backward it is a constant there; computed again, or returned by forward, it is not."""
    diagnosed(
        lambda: penalised(Saving), "AG108", "# saved", "Saving", "create_graph", severity="warning",
        where=Saving.forward,
    )  # fmt: skip
    calm(lambda: penalised(Recomputing), lambda: penalised(Exponential), lambda: penalised(Saving, again=False))


def test_second_derivative_of_what_is_kept_on_the_context():
    """Used for the returned gradient itself it is a constant as well; a mask, or a first derivative, misses nothing."""
    diagnosed(
        lambda: penalised(Keeping), "AG108", "# kept", "Keeping", "create_graph", severity="warning",
        where=Keeping.forward,
    )  # fmt: skip
    calm(lambda: penalised(KeepingAMask), lambda: penalised(Keeping, again=False))
