"""AG305: updates without an optimizer, that go nowhere or use the sum of old and new gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, line_of
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def trained(update, clear=lambda net: net.zero_grad()):
    net = nn.Linear(4, 1)
    for _ in range(3):
        clear(net)
        F.mse_loss(net(X), Y).backward()
        update(net)


def test_an_update_that_rebinds_the_loop_variable():
    """`p = p - lr * p.grad` moves nothing: the line is named, with its own form in place; grad mode plays no part."""

    def without_grad_mode(net):
        with torch.no_grad():
            for p in net.parameters():
                p = p - 0.1 * p.grad  # noqa: PLW2901 - the fault

    def recorded(net):
        for p in net.parameters():
            p = p.sub(p.grad, alpha=0.1)  # noqa: PLW2901 - the fault

    def of_asked_gradients():
        w, b = torch.zeros(4, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
        for _ in range(3):
            grads = torch.autograd.grad(F.mse_loss(X @ w + b, Y), (w, b))
            for p, g in zip((w, b), grads, strict=True):
                p = p - 0.1 * (g + 0.01 * p)  # noqa: PLW2901 - the fault

    for update, line, advice in (
        (without_grad_mode, "p = p -", "`p -= 0.1 * p.grad`"),
        (recorded, "p = p.sub(", "`p -= lr * p.grad`"),
    ):
        finding = diagnosed(
            lambda update=update: trained(update), "AG305", line, "weight", "bias", severity="warning", where=update
        )
        assert advice in finding.fix
    diagnosed(of_asked_gradients, "AG305", "p = p -", "w", "b", severity="warning")


def test_updates_that_are_used():
    """New values that are written, assigned, registered, used by the next loss or looked at are no fault."""

    def in_place(net):
        with torch.no_grad():
            for p in net.parameters():
                p.sub_(0.1 * p.grad)

    def copied(net):
        for p in net.parameters():
            p.data.copy_(p - 0.1 * p.grad)

    def assigned(net):
        for p in net.parameters():
            p.data = p.data - 0.1 * p.grad

    def registered(net):
        for name, p in list(net.named_parameters()):
            setattr(net, name, nn.Parameter(p - 0.1 * p.grad))

    def looked_at(net):
        with torch.no_grad():
            largest = max((p - 0.1 * p.grad).abs().max().item() for p in net.parameters())
            for p in net.parameters():
                p.sub_(p.grad, alpha=0.1 / max(1.0, largest))

    def functional():
        net = nn.Linear(4, 1)
        weights = dict(net.named_parameters())
        for _ in range(3):
            loss = F.mse_loss(torch.func.functional_call(net, weights, X), Y)
            grads = torch.autograd.grad(loss, tuple(weights.values()))
            weights = {
                name: (w - 0.1 * g).detach().requires_grad_()
                for (name, w), g in zip(weights.items(), grads, strict=True)
            }

    def adversarial():
        net = nn.Linear(4, 1).requires_grad_(False)
        x = X.clone()
        for _ in range(3):
            x = x.detach().requires_grad_()
            F.mse_loss(net(x), Y).backward()
            x = x + 0.01 * x.grad.sign()

    calm(*(lambda update=update: trained(update) for update in (in_place, copied, assigned, registered, looked_at)))
    calm(functional, adversarial)


def test_gradients_that_add_up_between_updates_by_hand():
    """Without clearing, each update uses the sum of all gradients so far: the backward and the update are named."""

    def through_data(net):
        for p in net.parameters():
            p.data -= 0.1 * p.grad

    def of_a_bare_leaf():
        w = torch.zeros(4, 1, requires_grad=True)
        for _ in range(3):
            F.mse_loss(X @ w, Y).backward()
            with torch.no_grad():
                w.sub_(w.grad, alpha=0.1)

    def of_an_attack_that_is_checked():
        net, delta = nn.Linear(4, 1).requires_grad_(False), torch.zeros(8, 4, requires_grad=True)
        for _ in range(3):
            loss = F.mse_loss(net(X + delta), Y)
            asked = torch.autograd.grad(loss, delta, retain_graph=True)[0]
            loss.backward()
            print((asked - delta.grad).abs().max())
            delta.data = (delta + 0.1 * delta.grad.sign()).clamp(-1, 1).detach()

    diagnosed(of_an_attack_that_is_checked, "AG305", "loss.backward()", "delta", severity="warning")
    found = diagnosed(
        lambda: trained(through_data, clear=lambda net: None),
        "AG305", ".backward()", "weight", "bias", severity="warning", where=trained,
    )  # fmt: skip
    assert "p.data -= 0.1" in "".join(place.source for place in found.locations)
    found = diagnosed(of_a_bare_leaf, "AG305", ".backward()", "w", severity="warning")
    assert "`w.grad = None`" in found.fix


def test_gradients_that_are_meant_to_add_up():
    """Accumulation before an update, clearing in any form, and decaying the gradient itself are no fault."""

    def accumulated():
        net = nn.Linear(4, 1)
        for at in range(4):
            F.mse_loss(net(X), Y).backward()
            if at % 2:
                with torch.no_grad():
                    for p in net.parameters():
                        p.add_(p.grad, alpha=-0.1)
                net.zero_grad()

    def cleared_in_place(net):
        for p in net.parameters():
            p.data -= 0.1 * p.grad
            p.grad.zero_()

    def heavy_ball(net):
        for p in net.parameters():
            p.data -= 0.1 * p.grad
            p.grad *= 0.9

    def aliased(net):
        grads = [p.grad for p in net.parameters()]
        with torch.no_grad():
            torch._foreach_add_(list(net.parameters()), grads, alpha=-0.1)
            torch._foreach_zero_(grads)

    calm(accumulated)
    calm(
        *(
            lambda update=update: trained(update, clear=lambda net: None)
            for update in (cleared_in_place, heavy_ball, aliased)
        )
    )


def test_an_update_in_several_statements():
    """An attack moves its perturbation, bounds it and projects it: one fault, told at the update."""

    def attack():
        net = nn.Linear(4, 1).requires_grad_(False)
        delta = torch.zeros_like(X, requires_grad=True)
        for _ in range(3):
            F.mse_loss(net(X + delta), Y).backward()
            with torch.no_grad():
                delta += 0.1 * delta.grad.sign()
                delta.clamp_(-0.2, 0.2)
                delta.copy_((X + delta).clamp(0, 1) - X)

    finding = diagnosed(attack, "AG305", ".backward()", "delta", severity="warning")
    assert line_of(attack, "delta += ") in [place.lineno for place in finding.locations]
