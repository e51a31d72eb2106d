"""AG306: hooks that run after a gradient was accumulated, and hooks from before the capture."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, inspected, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def trained_with(hook):
    net = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
    net[0].weight.register_post_accumulate_grad_hook(hook)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, net(X).pow(2).mean())


def zeroing(p):
    p.grad.zero_()


def replacing(p):
    p.grad = torch.zeros_like(p.grad)


def dropping(p):
    p.grad = None


def multiplying(p):
    p.grad = p.grad * 0.0


def scaling(p):
    p.grad.mul_(0.5)


def clipping(p):
    p.grad = p.grad.clamp(-0.1, 0.1)


def partly(p):
    p.grad[:1].zero_()


def refilled(p):
    given = p.grad.clone()
    p.grad = torch.zeros_like(p.grad)
    p.grad.add_(given)


def test_hook_that_leaves_nothing_of_a_gradient():
    """Zeroed, replaced by zeros or dropped: the line in the hook is shown, and where it was registered."""
    for hook, line in ((zeroing, "zero_()"), (replacing, "zeros_like"), (dropping, "p.grad = None")):
        for values in (False, True):
            finding = diagnosed(
                lambda hook=hook: trained_with(hook), "AG306", line, "0.weight", hook.__name__,
                severity="warning", where=hook, values=values,
            )  # fmt: skip
            assert any("register_post_accumulate" in place.source for place in finding.locations)


def test_hook_that_multiplies_by_zero():
    """Where values are read, zeros that the hook computed are seen as well."""
    diagnosed(
        lambda: trained_with(multiplying), "AG306", "p.grad = p.grad * 0.0", "0.weight",
        severity="warning", where=multiplying, values=True,
    )  # fmt: skip


def test_hook_that_changes_a_gradient():
    """What a hook scales, clips, zeroes in part or computes anew is a gradient still."""
    calm(*(lambda hook=hook: trained_with(hook) for hook in (scaling, clipping, partly, refilled)))


def test_hook_that_adds_gradients_up_elsewhere():
    """Gradients that the hook adds to a buffer of its own, and clears, are given back before the step."""

    def program(*, drop):
        net = nn.Linear(4, 1)
        sums = {p: torch.zeros_like(p) for p in net.parameters()}
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def add_up(p):
            sums[p].add_(p.grad)
            if drop:
                p.grad = None
            else:
                p.grad.zero_()

        for p in net.parameters():
            p.register_post_accumulate_grad_hook(add_up)
        for _ in range(2):
            net(X).pow(2).mean().backward()
            for p in net.parameters():
                p.grad = sums[p].clone()
            optimizer.step()
            optimizer.zero_grad()

    calm(lambda: program(drop=True), lambda: program(drop=False))


def test_optimizer_inside_backward_that_zeroes():
    """A hook that steps and then zeroes in place has used the gradient."""

    def program():
        net = nn.Linear(4, 1)
        optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}

        def step(p):
            optimizers[p].step()
            optimizers[p].zero_grad(set_to_none=False)

        for p in net.parameters():
            p.register_post_accumulate_grad_hook(step)
        for _ in range(3):
            net(X).pow(2).mean().backward()

    calm(program)


def test_gradient_that_was_zero_before_the_hook():
    """A hook that scales what a dead ReLU left has not made the zeros."""

    def program():
        net = nn.Linear(4, 1)
        net.weight.register_post_accumulate_grad_hook(scaling)
        with torch.no_grad():
            net.bias.fill_(-100.0)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, net(X).relu().sum())

    report = inspected(program, values=True)
    assert not [f for f in report.findings if f.rule == "AG306"], summary(report)


def test_hook_from_before_the_capture():
    """A hook that a parameter brought along is found on it, never called for that, and its definition is shown."""
    calls = []

    def brought(gradient):
        calls.append(gradient)
        return torch.zeros_like(gradient)

    def ready(hook, *, post):
        net = nn.Linear(4, 1)
        register = net.weight.register_post_accumulate_grad_hook if post else net.weight.register_hook
        register(hook)
        return net

    def program(net):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())

    net = ready(brought, post=False)
    finding = diagnosed(
        lambda: program(net), "AG306", "def brought(gradient)", "weight", "brought",
        severity="warning", where=brought, values=True,
    )  # fmt: skip
    assert finding.locations[0].role == "hook defined here"
    assert len(calls) == 2
    late = ready(zeroing, post=True)
    diagnosed(lambda: program(late), "AG306", "zero_()", "weight", "zeroing", severity="warning", where=zeroing)
    calm(lambda: program(ready(scaling, post=True)), lambda: program(ready(lambda g: g * 0.5, post=False)))
