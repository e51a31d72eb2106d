"""AG108: custom autograd.Functions whose backward gives nothing, or the wrong thing, back."""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .programs import diagnosed, inspected, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Clip(Function):
    @staticmethod
    def forward(ctx, x, low):
        ctx.save_for_backward(x)
        ctx.low = low
        return x.clamp(min=low)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x > ctx.low), None


class ClipNone(Clip):
    @staticmethod
    def backward(ctx, grad):
        grad * 2
        return None, None


class ClipOne(Clip):
    @staticmethod
    def backward(ctx, grad):
        return grad


class ClipMany(Clip):
    @staticmethod
    def backward(ctx, grad):
        return grad, None, None


class ClipSum(Clip):
    @staticmethod
    def backward(ctx, grad):
        return grad.sum(0, keepdim=True)[:, :2], None


def through(function, *more):
    encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        trained(optimizer, head(function.apply(encoder(X), *more)).pow(2).mean())


def test_none_for_the_input_that_needs_it():
    """None for an input that requires grad starves what lies behind it; None for a number is right."""
    diagnosed(
        lambda: through(ClipNone, 0.1), "AG108", "return None, None", "ClipNone", "encoder.weight",
        severity="warning", where=ClipNone,
    )  # fmt: skip
    calm(lambda: through(Clip, 0.1))


class Doubled(Function):
    """A Function whose forward applies another."""

    @staticmethod
    def forward(ctx, x):
        return Clip.apply(x, 0.1) * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class DoubledNone(Doubled):
    @staticmethod
    def backward(ctx, grad):
        return None


def test_none_of_a_function_that_applies_another():
    """The outer one's backward is blamed: autograd does not record what its forward applies."""
    diagnosed(
        lambda: through(DoubledNone), "AG108", "return None", "DoubledNone", "encoder.weight",
        severity="warning", where=DoubledNone,
    )  # fmt: skip
    calm(lambda: through(Doubled))


def test_too_few_gradients():
    """backward has to return something for each argument of forward, numbers included."""
    diagnosed(lambda: through(ClipOne, 0.1), "AG108", "return grad", "ClipOne", severity="error", where=ClipOne)


def test_too_many_gradients():
    """One None too many is accepted by torch, so nothing is said; a gradient too many raises."""

    class Twice(Clip):
        @staticmethod
        def backward(ctx, grad):
            return grad, None, grad

    calm(lambda: through(ClipMany, 0.1))
    diagnosed(lambda: through(Twice, 0.1), "AG108", "return grad, None, grad", "Twice", severity="error", where=Twice)


def test_gradient_of_another_shape():
    """A gradient shaped unlike its input raises, and the finding shows the return statement."""
    diagnosed(lambda: through(ClipSum, 0.1), "AG108", "return grad.sum", "ClipSum", severity="error", where=ClipSum)


class Affine(Function):
    """A custom layer with a weight of its own, as in the extending notes."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight, grad.t() @ x


class AffineForgetful(Affine):
    @staticmethod
    def backward(ctx, grad):
        _, weight = ctx.saved_tensors
        return grad @ weight, None


class AffineLayer(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function, self.weight = function, nn.Parameter(torch.randn(4, 4) * 0.1)

    def forward(self, x):
        return self.function.apply(x, self.weight)


def layered(function):
    net = nn.Sequential(nn.Linear(4, 4), AffineLayer(function), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, net(X).pow(2).mean())


def test_none_for_the_weight_alone():
    """None for one of two inputs starves that one: here the layer's own weight."""
    diagnosed(
        lambda: layered(AffineForgetful), "AG108", "return grad @ weight, None", "AffineForgetful", "1.weight",
        severity="warning", where=AffineForgetful,
    )  # fmt: skip
    calm(lambda: layered(Affine))


class First(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * b

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def test_a_graph_that_goes_backward_again_and_again():
    """Each node that returned None is in the capture once, and what it starves is told once, by its name."""
    w, scale = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)

    def retained():
        h = torch.ones(3)
        for _ in range(4):
            h = First.apply(h * w, scale)
            h.sum().backward(retain_graph=True)

    report = inspected(retained)
    assert len(report.capture.none_gradients) == 4
    (finding,) = [f for f in report.findings if f.rule == "AG108"]
    assert "leads to scale" in finding.message


def test_no_return_statement():
    """A backward that falls off its end returns None."""

    class Silent(Clip):
        @staticmethod
        def backward(ctx, grad):
            grad * 2

    diagnosed(lambda: through(Silent, 0.1), "AG108", "def backward", "Silent", severity="error", where=Silent)


def test_saturated_straight_through():
    """Straight-through and gradient-reversal Functions return gradients and are no mistake."""

    class Reverse(Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.weight = weight
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return -ctx.weight * grad, None

    class Round(Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            return grad

    calm(lambda: through(Reverse, 0.3), lambda: through(Round))


def test_gradient_that_the_input_does_not_need():
    """None is right where the input needs no gradient, whatever else goes in: masks, indices, frozen weights."""

    class Gather(Function):
        @staticmethod
        def forward(ctx, x, index, mask):
            ctx.save_for_backward(index, mask)
            return x[index] * mask

        @staticmethod
        def backward(ctx, grad):
            index, mask = ctx.saved_tensors
            return torch.zeros(8, 4).index_add(0, index, grad * mask), None, None

    calm(lambda: through(Gather, torch.tensor([0, 3, 5]), torch.ones(3, 1)))


def test_once_differentiable_under_a_gradient_penalty():
    """once_differentiable refuses the second backward that a gradient penalty needs."""

    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    class Twice(Square):
        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    def penalised(function):
        critic = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
        x = X.clone().requires_grad_()
        (slope,) = torch.autograd.grad(function.apply(critic(x)).pow(2).sum(), x, create_graph=True)
        trained(optimizer, slope.pow(2).sum())

    diagnosed(lambda: penalised(Square), "AG108", "@once_differentiable", "Square", severity="error", where=Square)
    calm(lambda: penalised(Twice))


class AsksForAnother(Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x * w + b

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        gx = gw = None
        if ctx.needs_input_grad[0]:
            gx = grad * w
        if ctx.needs_input_grad[0]:  # Of another input.
            gw = (grad * x).sum(0)
        gb = grad.sum((0, 1))  # Over all.
        return gx, gw, gb


def test_condition_that_asks_for_another_input():
    """The condition around what would have computed the gradient comes first, before the return statement."""

    def program():
        w = nn.Parameter(torch.ones(4))
        optimizer = torch.optim.SGD([w], lr=0.1)
        trained(optimizer, AsksForAnother.apply(X, w, torch.zeros(())).sum())

    diagnosed(program, "AG108", "# Of another input.", "w", severity="warning", where=AsksForAnother.backward)


class ReturnsATuple(AsksForAnother):
    """The same, with a variable for all that it returns."""

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        gx = gw = None
        if ctx.needs_input_grad[0]:
            gx = grad * w
        if ctx.needs_input_grad[2]:  # Of another one.
            gw = (grad * x).sum(0)
        returned = gx, gw, None
        return returned  # noqa: RET504 - as programs write it


def test_condition_in_a_function_that_returns_a_variable():
    """What is returned is found where it was put together, too."""

    def program():
        w = nn.Parameter(torch.ones(4))
        optimizer = torch.optim.SGD([w], lr=0.1)
        trained(optimizer, ReturnsATuple.apply(X, w, torch.zeros(())).sum())

    diagnosed(program, "AG108", "# Of another one.", "w", severity="warning", where=ReturnsATuple.backward)


def test_gradient_that_was_summed_over_too_much():
    """The line that computed the gradient which torch refuses comes first."""

    def program():
        w, b = nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4, 1, 1))
        AsksForAnother.apply(X.requires_grad_(), w, b[:, 0, 0]).sum().backward()

    found = diagnosed(
        program, "AG108", "# Over all.", "index 2", severity="error", where=AsksForAnother.backward, besides=("AG301",)
    )
    assert "[4]" in found.message


class _EarlyOut(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return 2 * x, 3 * x

    @staticmethod
    def backward(ctx, one, other):
        if one is None or other is None:
            return None
        return 2 * one + 3 * other


class _Each(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return 2 * x, 3 * y

    @staticmethod
    def backward(ctx, one, other):
        return None if one is None else 2 * one, None if other is None else 3 * other


def test_a_return_before_a_gradient_is_used():
    """One of two outputs has a gradient, and the only input gets none."""
    layer = nn.Linear(3, 3)

    def one_of_two():
        _EarlyOut.apply(layer(torch.ones(2, 3)))[0].pow(2).mean().backward()

    diagnosed(
        one_of_two,
        "AG108",
        "one is None or other is None",
        "_EarlyOut.backward",
        severity="warning",
        where=_EarlyOut.backward,
    )


def test_outputs_that_each_belong_to_an_input():
    """No gradient comes for the second, and none is passed on; also where the first input needs none."""
    layer = nn.Linear(3, 3)

    def first_alone():
        h = layer(torch.ones(2, 3))
        _Each.apply(h, 2 * h)[0].pow(2).mean().backward()

    def first_needs_none():
        h = layer(torch.ones(2, 3))
        (_Each.apply(torch.ones(2, 3), h)[0] + h).pow(2).mean().backward()

    calm(first_alone, first_needs_none)
