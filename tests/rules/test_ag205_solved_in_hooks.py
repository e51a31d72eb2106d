"""AG205: a hook that solves for the gradient of a fixed point, and does not return it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class FixedPoint(nn.Module):
    """``z = tanh(W z + x)``; ``hook`` makes a hook of the Jacobian-vector product of the last step."""

    def __init__(self, hook):
        super().__init__()
        self.inner, self.hook, self.kept = nn.Linear(4, 4), hook, []
        nn.init.orthogonal_(self.inner.weight, 0.5)

    def forward(self, x):
        with torch.no_grad():
            z = torch.zeros_like(x)
            for _ in range(10):
                z = torch.tanh(self.inner(z) + x)
        z = torch.tanh(self.inner(z) + x)
        start = z.detach().requires_grad_()
        step = torch.tanh(self.inner(start) + x.detach())
        z.register_hook(self.hook(self, lambda y: torch.autograd.grad(step, start, y, retain_graph=True)[0]))
        return z


def keeping(net, product):
    def solve(grad):
        g = grad
        for _ in range(10):
            g = product(g) + grad
        net.last = g  # kept only

    return solve


def keeping_the_last(net, product):
    def solve(grad):
        g = grad
        for _ in range(10):
            g = product(g).add(grad)
        net.kept = [g]  # kept only

    return solve


def returning(_net, product):
    def solve(grad):
        g = grad
        for _ in range(10):
            g = product(g) + grad
        return g

    return solve


def looking(net, product):
    def look(grad):
        net.kept.append(product(grad).norm().item())

    return look


def reading(net, product):
    def look(grad):
        net.kept.append(product(grad) + grad)

    return look


def fit(hook, read=False):
    layer, head = FixedPoint(hook), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        head(layer(X)).pow(2).mean().backward()
        optimizer.step()
        if read:
            layer.kept = [layer.kept[-1].norm().item()]


@pytest.mark.parametrize("hook", [keeping, keeping_the_last])
def test_a_solution_that_is_kept_and_not_returned(hook):
    """The end of the hook comes first, where the return belongs."""
    finding = diagnosed(
        lambda: fit(hook), "AG205", "# kept only", "solve", "returns nothing", severity="warning", where=hook
    )
    assert finding.edits


def test_hooks_that_return_or_look():
    """The solution is returned; what a hook computes is a number, or is read behind backward."""
    calm(lambda: fit(returning), lambda: fit(looking), lambda: fit(reading, read=True))
