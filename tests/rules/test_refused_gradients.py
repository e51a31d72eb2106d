"""Gradients that are asked of tensors that have none: hooks, retain_grad() and autograd.grad that torch refuses."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, silent, trained

X = torch.randn(5, 3)


def test_a_hook_on_a_loss_that_was_evaluated():
    """The hook is refused because the loss was computed under no_grad: the block is to blame."""

    def program(mode=torch.no_grad):
        net = nn.Linear(3, 1)
        with mode():
            loss = net(X).pow(2).mean()
        loss.register_hook(lambda grad: grad.clamp(-1, 1))
        loss.backward()

    diagnosed(program, "AG102", "with mode():", "no_grad", "hook", severity="error")
    silent(lambda: program(torch.enable_grad))


def test_a_hook_on_features_of_a_frozen_backbone():
    """Nothing that leads to the hooked tensor requires grad: the line that froze it is told."""

    def program(freeze=True):
        body, head = nn.Sequential(nn.Linear(3, 4), nn.Tanh()), nn.Linear(4, 2)
        if freeze:
            body.requires_grad_(requires_grad=False)
        features = body(X)
        features.register_hook(print if freeze else lambda grad: None)
        head(features).sum().backward()

    report = diagnosed(program, "AG106", "body.requires_grad_", "frozen", "features", severity="error")
    assert any("register_hook" in place.source for place in report.locations)
    silent(lambda: program(freeze=False))


def test_retain_grad_of_a_detached_embedding():
    """retain_grad() of a detached tensor is refused: the detach is to blame."""

    def program(cut=True):
        embedding, score = nn.Embedding(6, 3), nn.Linear(3, 1)
        rows = embedding(torch.tensor([1, 4]))
        if cut:
            rows = rows.detach()
        rows.retain_grad()
        score(rows).sum().backward()
        return rows.grad

    diagnosed(program, "AG101", "rows = rows.detach()", "retain_grad", severity="error")
    silent(lambda: program(cut=False))


def test_a_refusal_that_is_caught_is_nobodys_fault():
    """A program that only tries whether it can keep a gradient is healthy."""

    def program():
        net = nn.Linear(3, 1)
        with torch.no_grad():
            out = net(X)
        try:
            out.retain_grad()
        except RuntimeError:
            out = net(X)
        trained(torch.optim.SGD(net.parameters(), lr=0.1), out.pow(2).mean())

    silent(program)


def test_what_a_hook_computes_has_no_graph():
    """Hooks run with grad mode off: what one of them computes cannot be differentiated, unless it switches it on."""

    def program(mode=torch.no_grad):
        net = nn.Linear(3, 2)

        def penalised(grad):
            with mode():
                norm = net(X).norm()
            return grad + torch.autograd.grad(norm, net.weight)[0].mean()

        y = net(X).tanh()
        y.register_hook(penalised)
        y.sum().backward()

    def plain():
        net = nn.Linear(3, 2)

        def penalised(grad):
            norm = net(X).norm()
            return grad + torch.autograd.grad(norm, net.weight)[0].mean()

        y = net(X).tanh()
        y.register_hook(penalised)
        y.sum().backward()

    diagnosed(plain, "AG102", "norm = net(X).norm()", "penalised", "enable_grad", severity="error")
    silent(lambda: program(torch.enable_grad))


def test_a_backward_that_runs_its_layers_again():
    """A reversible layer whose backward runs the forward again has to switch grad mode on for it."""

    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, layer, mode):
            ctx.layer, ctx.mode = layer, mode
            ctx.save_for_backward(x)
            return layer(x)

        @staticmethod
        def backward(ctx, grad):
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.set_grad_enabled(ctx.mode):
                y = ctx.layer(x)
            y.backward(grad)
            return x.grad, None, None

    def off():
        layer, first = nn.Linear(3, 3), nn.Linear(3, 3)
        Again.apply(first(X), layer, False).sum().backward()

    def on():
        layer, first = nn.Linear(3, 3), nn.Linear(3, 3)
        Again.apply(first(X), layer, True).sum().backward()

    diagnosed(off, "AG102", "y = ctx.layer(x)", "Again.backward", severity="error", where=Again.backward)
    silent(on)


def test_a_copy_is_not_what_the_network_was_given():
    """The gradient is asked of a copy that was made beside the input."""

    def program(of_copy=True):
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        image = X.clone().requires_grad_()
        score = net(image).sum()
        probe = image.clone() if of_copy else image
        return torch.autograd.grad(score, probe)[0].abs().max()

    diagnosed(program, "AG301", "probe = image.clone()", "probe", "copy of image", severity="error")
    silent(lambda: program(of_copy=False))


def test_coordinates_that_are_cut_out_too_late():
    """A derivative by one coordinate needs that coordinate to be made before the network is run."""

    def program(late=True):
        net, points = nn.Linear(2, 1), torch.rand(5, 2, requires_grad=True)
        if late:
            u = net(points).tanh()
            time = points.select(1, 1)
        else:
            place, time = points.unbind(1)
            u = net(torch.stack([place, time], dim=1)).tanh()
        return torch.autograd.grad(u.sum(), time, create_graph=True)

    diagnosed(program, "AG301", "time = points.select(1, 1)", "view of points", severity="error")
    silent(lambda: program(late=False))


def test_an_optimizer_that_updates_with_grad_mode_on():
    """A step of the user's own that writes to its parameters: the line of the optimizer is told."""

    class Descent(torch.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            for group in self.param_groups:
                for weight in group["params"]:
                    weight.sub_(group["lr"] * weight.grad)

    class Still(Descent):
        @torch.no_grad()
        def step(self, closure=None):
            super().step(closure)

    def program(kind):
        net = nn.Linear(3, 1)
        trained(kind(net.parameters(), lr=0.1), net(X).pow(2).mean())

    found = diagnosed(
        lambda: program(Descent), "AG203", "weight.sub_(", "weight", "no_grad", severity="error", where=Descent.step
    )
    assert "clone" not in found.fix
    silent(lambda: program(Still))
