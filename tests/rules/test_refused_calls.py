"""Calls that torch refuses for what a line far away has done: scalers, transforms, hooks, custom Functions."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call, grad, vmap

from .programs import diagnosed, silent

X = torch.randn(5, 3)


def round_of(net, optimizer, scaler, *calls):
    """One step under a scaler, by these of its methods."""
    optimizer.zero_grad()
    scaler.scale(net(X).pow(2).mean()).backward()
    for call in calls:
        call(optimizer)


def test_a_scaler_that_is_never_updated():
    """The second round's step is refused: the step that no update() followed is told, and the optimizer is named."""

    def program(update=False):
        net, scaler = nn.Linear(3, 1), torch.amp.GradScaler("cpu")
        other, adam = nn.Linear(3, 1), torch.optim.SGD(net.parameters(), lr=0.1)
        sgd = torch.optim.Adam(other.parameters())
        for _ in range(2):
            own = torch.amp.GradScaler("cpu")
            round_of(other, sgd, own, own.step)
            scaler.scale(net(X).pow(2).mean()).backward()
            scaler.step(adam)
            adam.zero_grad()
            if update:
                scaler.update()

    found = diagnosed(
        program, "AG305", "scaler.step(adam)", "scaler.update()", "SGD", severity="error", besides=("AG405",)
    )
    assert "`scaler.step(adam)`" in found.fix


def test_gradients_that_are_unscaled_twice():
    """unscale_() in a loop over parameter groups is one call too many for one step."""

    def program(times=2):
        net, scaler = nn.Linear(3, 1), torch.amp.GradScaler("cpu")
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler.scale(net(X).pow(2).mean()).backward()
        for _ in range(times):
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    found = diagnosed(program, "AG305", "scaler.unscale_(optimizer)", "already", severity="error")
    assert "once for each" in found.fix
    silent(lambda: program(times=1))


class Old(torch.autograd.Function):
    """Saves in forward: plain autograd takes it, torch.func does not."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0].cos()


class New(torch.autograd.Function):
    """The same in two methods."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0].cos()


def test_a_function_that_a_transform_refuses():
    """torch.func.grad of what applies a Function without setup_context: its forward is told."""

    def program(kind=Old):
        weight = torch.ones(3, requires_grad=True)
        return grad(lambda w: kind.apply(X @ w).sum())(weight)

    diagnosed(program, "AG108", "def forward(ctx, x)", "Old", "setup_context", severity="error", where=Old)
    silent(lambda: program(New))


def test_noise_that_is_drawn_under_vmap():
    """The line that made the batched function is told, and the op that draws."""

    class Sampler:
        def __init__(self, net, **options):
            self.net = net
            self.batched = vmap(self.noisy, **options)

        def noisy(self, x):
            return self.net(x + torch.randn_like(x))

    def program(**options):
        return Sampler(nn.Linear(3, 1), **options).batched(X)

    found = diagnosed(program, "AG110", "self.batched = vmap(", "randomness", severity="error", where=Sampler.__init__)
    assert any("torch.randn_like(x)" in place.source for place in found.locations)
    silent(lambda: program(randomness="different"))


def test_dropout_under_an_inner_vmap():
    """Of two, the inner one that was not told is to blame, called where it is made."""

    def program(**options):
        net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        params = dict(net.named_parameters())

        def loss(p, x):
            return functional_call(net, p, (x,)).sum()

        outer = vmap(lambda xs: vmap(loss, in_dims=(None, 0), **options)(params, xs).sum(), randomness="different")
        return outer(torch.randn(2, 5, 3))

    diagnosed(program, "AG110", "lambda xs: vmap(loss", "randomness", severity="error")
    silent(lambda: program(randomness="same"))


def test_the_function_that_is_marked_is_blamed():
    """Of two custom Functions in one graph only the one with @once_differentiable stops a second derivative."""

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad_output):
            return 3 * grad_output * ctx.saved_tensors[0] ** 2

    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        @once_differentiable
        def backward(ctx, grad_output):
            return grad_output * ctx.saved_tensors[0].exp()

    def program(functions):
        x = X.clone().requires_grad_()
        y = x
        for function in functions:
            y = function.apply(y)
        (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        slope.pow(2).sum().backward()

    diagnosed(
        lambda: program([Plain, Once, Plain]), "AG108", "@once_differentiable", "Once", severity="error", where=Once
    )
    silent(lambda: program([Plain, Plain]))


def test_an_activation_on_a_hooked_output():
    """A backward hook makes the module's output a view: the registration and the module are told beside the call."""

    def program(inplace=True):
        net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
        net[0].register_full_backward_hook(lambda module, given, got: None)
        hidden = net[0](X)
        F.leaky_relu(net[1](F.elu(hidden, inplace=inplace))).sum().backward()

    found = diagnosed(program, "AG203", "F.elu(hidden", "hook", "hidden", severity="error")
    assert any("register_full_backward_hook" in place.source for place in found.locations)
    assert "of 0, and must not" in found.message
    silent(lambda: program(inplace=False))


def test_a_sparse_table_in_adam():
    """Adam refuses sparse gradients: its line, and the embedding's, are told; the dense weights are not named."""

    def program(kind, sparse=True):
        table, head = nn.Embedding(9, 3, sparse=sparse), nn.Linear(3, 1)
        optimizer = kind([*table.parameters(), *head.parameters()])
        head(table(torch.tensor([1, 2]))).sum().backward()
        optimizer.step()

    found = diagnosed(
        lambda: program(torch.optim.Adam), "AG414", "optimizer = kind(", "sparse", "table.weight", severity="error",
        where=program,
    )  # fmt: skip
    assert "head" not in found.message
    assert any("nn.Embedding" in place.source for place in found.locations)
    dense = diagnosed(
        lambda: program(torch.optim.SparseAdam), "AG414", "optimizer = kind(", "dense", "head.weight",
        severity="error", where=program,
    )  # fmt: skip
    assert "table" not in dense.message
    silent(lambda: program(torch.optim.Adam, sparse=False))


def test_a_loss_that_does_not_use_the_parameters_it_is_given():
    """torch.func.grad of a function that calls the model itself returns zeros: the call of the model is told."""

    def program(use):
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        state = dict(net.named_parameters())

        def plain(weights, x):
            return net(x).pow(2).mean()

        def swapped(weights, x):
            return functional_call(net, weights, (x,)).pow(2).mean()

        return grad(swapped if use else plain)(state, X)

    diagnosed(
        lambda: program(use=False), "AG110", "return net(x).pow(2).mean()", "functional_call", severity="warning",
        where=program,
    )  # fmt: skip
    silent(lambda: program(use=True))


def test_a_derivative_that_is_zero():
    """The second derivative of a linear function is zero, with no parameter of a module in sight."""

    def program():
        net = nn.Linear(3, 1)
        for weights in net.parameters():
            weights.requires_grad_(requires_grad=False)
        slope = grad(lambda x: (2 * x).sum())
        return grad(lambda x: slope(x).sum())(X)

    silent(program)


def test_a_scaler_that_is_updated_without_a_step():
    """Micro-batches that only accumulate: `update()` belongs to the branch that steps."""

    def program(each):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        for i in range(4):
            scaler.scale(net(torch.ones(2, 4)).mean()).backward()
            if i % 2:
                scaler.step(optimizer)
                optimizer.zero_grad()
            if each or i % 2:
                scaler.update()

    diagnosed(
        lambda: program(True), "AG305", "scaler.update()", "nothing to judge the scale by", "in the same branch",
        severity="error", where=program,
    )  # fmt: skip
    silent(lambda: program(False))


def test_a_gradient_that_is_asked_through_a_step():
    """A validation loss after `optimizer.step()` is asked for the gradient of the training loss's weights."""

    def program(through):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        weights = torch.zeros(3, requires_grad=True)
        loss = (weights * net(torch.ones(3, 4)).squeeze(1)).sum()
        if through:
            loss.backward()
            optimizer.step()  # Moved.
            fast = dict(net.named_parameters())
        else:
            slopes = torch.autograd.grad(loss, tuple(net.parameters()), create_graph=True)
            named = zip(net.named_parameters(), slopes, strict=True)
            fast = {name: p - 0.1 * slope for (name, p), slope in named}
        val = torch.func.functional_call(net, fast, (torch.ones(2, 4),)).pow(2).mean()
        return torch.autograd.grad(val, weights)

    diagnosed(
        lambda: program(True), "AG301", "# Moved.", "weights that step() has moved", "create_graph=True",
        severity="error", where=program,
    )  # fmt: skip
    silent(lambda: program(False))
