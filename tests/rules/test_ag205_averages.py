"""AG205 where an update computes its running average anew and does not keep it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, silent

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def fit(update, steps=3):
    net = nn.Linear(4, 2)
    params = list(net.parameters())
    states = [torch.zeros_like(p) for p in params]
    for _ in range(steps):
        net.zero_grad()
        net(X).pow(2).mean().backward()
        with torch.no_grad():
            update(params, states)


def of_a_product(params, states):
    for p, m in zip(params, states, strict=True):
        m = m * 0.9 + p.grad * 0.1  # noqa: PLW2901 - product
        p.sub_(0.1 * m)


def of_a_lerp(params, states):
    for p, m in zip(params, states, strict=True):
        m = torch.lerp(m, p.grad, 0.1)  # noqa: PLW2901 - lerp
        p.sub_(0.1 * m)


@pytest.mark.parametrize(("update", "line"), [(of_a_product, "- product"), (of_a_lerp, "- lerp")])
@pytest.mark.parametrize("backend", ["", "eager", "aot_eager"])
def test_an_average_that_is_bound_to_a_name(update, line, backend):
    """The state stays zero, of code that is compiled as of code that is not; the line that computes it is named."""
    torch._dynamo.reset()
    called = torch.compile(update, backend=backend) if backend else update
    finding = diagnosed(lambda: fit(called), "AG205", line, "m", "zero", severity="warning", where=update)
    assert finding.edits
    torch._dynamo.reset()


def test_averages_that_are_kept():
    """Written in place, copied back, or put into the list."""

    def in_place(params, states):
        for p, m in zip(params, states, strict=True):
            m.mul_(0.9).add_(p.grad, alpha=0.1)
            p.sub_(0.1 * m)

    def copied(params, states):
        for p, m in zip(params, states, strict=True):
            m.copy_(m * 0.9 + p.grad * 0.1)
            p.sub_(0.1 * m)

    def listed(params, states):
        for at, p in enumerate(params):
            states[at] = states[at] * 0.9 + p.grad * 0.1
            p.sub_(0.1 * states[at])

    silent(lambda: fit(in_place), lambda: fit(copied), lambda: fit(listed))


def test_zeros_that_are_a_beginning():
    """A momentum that begins anew with the same zeros, and a leaky integrator that each batch begins at rest."""

    def restarted():
        w, zero = torch.ones(4, requires_grad=True), torch.zeros(4)
        for _ in range(3):
            velocity = zero
            for row in X[:3]:
                (grad,) = torch.autograd.grad((w * row).sum().square(), w)
                velocity = velocity * 0.9 + grad
                with torch.no_grad():
                    w -= 0.01 * velocity

    def integrator():
        net, rest = nn.Linear(4, 2), torch.zeros(2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            potential = rest
            for row in X:
                potential = potential * 0.9 + net(row)
            potential.pow(2).sum().backward()
            optimizer.step()

    silent(restarted, integrator)
