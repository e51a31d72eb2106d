"""Physics: a net solves u' = -u on a line; the compiled residual uses torch.func, the edge loss the net itself."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the residual is computed with detached parameters, so the equation never trains the net",
    names=("detach", "net.0.weight"),
    repair=("weights = dict(net.named_parameters())",),
)


def setup():
    torch.manual_seed(0)


def run():
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def u(weights, x):
        return functional_call(net, weights, (x[None],))[0]

    @torch.compile(backend=BACKEND)
    def residual(weights, xs):
        slope = vmap(grad(u, argnums=1), in_dims=(None, 0))(weights, xs)
        value = vmap(u, in_dims=(None, 0))(weights, xs)
        return (slope + value).square().mean()

    flows = []
    for _ in range(3):
        xs = torch.rand(20)
        weights = {name: p.detach() for name, p in net.named_parameters()}  # cause
        equation = residual(weights, xs)
        edge = (net(torch.zeros(1, 1)) - 1.0).square().mean()
        flows.append(equation.requires_grad)
        optimizer.zero_grad()
        (edge + equation).backward()  # symptom
        optimizer.step()
    return flows


def verify(outcome):
    assert outcome == [False] * 3
