"""Meta learning, first order on purpose: the compiled inner gradient is a constant for the outer loss."""

import torch
from torch import nn
from torch.func import functional_call, grad

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()


def setup():
    torch.manual_seed(0)


def run():
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    outer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def error(weights, x, y):
        return (functional_call(net, weights, (x,)) - y).square().mean()

    @torch.compile(backend=BACKEND)
    def slope(weights, x, y):
        return grad(error)(weights, x, y)

    checks = []
    for _ in range(3):
        outer.zero_grad()
        for _ in range(2):
            amplitude, x = torch.rand(1) + 0.5, torch.randn(10, 1)
            y = amplitude * torch.sin(x)
            frozen = {name: p.detach() for name, p in net.named_parameters()}
            steps = slope(frozen, x[:5], y[:5])
            adapted = {name: p - 0.05 * steps[name] for name, p in net.named_parameters()}
            (error(adapted, x[5:], y[5:]) / 2).backward()
        constant = {n: (p.detach() - 0.05 * steps[n]).requires_grad_() for n, p in net.named_parameters()}
        last = torch.autograd.grad(error(constant, x[5:], y[5:]) / 2, list(constant.values()))
        checks.append([(p.grad.clone(), g) for p, g in zip(net.parameters(), last)])
        before = net[0].weight.detach().clone()
        outer.step()
    return checks, before, net[0].weight.detach()


def verify(outcome):
    checks, before, after = outcome
    assert all(total.abs().sum() > 0 and last.abs().sum() > 0 for check in checks for total, last in check)
    assert not torch.equal(before, after)
