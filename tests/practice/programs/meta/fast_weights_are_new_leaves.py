"""MAML with second derivatives asked for, whose adapted weights are detached: the outer loss reaches no start."""

import torch
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


def adapt(net, params, x, y, lr=0.1):
    loss = nn.functional.mse_loss(functional_call(net, params, (x,)), y)
    grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=True)
    return {k: (p - lr * g).detach().requires_grad_() for (k, p), g in zip(params.items(), grads)}  # cause


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    meta = torch.optim.Adam(net.parameters(), 1e-3)
    start = net[0].weight.detach().clone()
    for _ in range(2):
        meta.zero_grad()
        total = 0.0
        for _task in range(3):
            x, xq = torch.randn(8, 1), torch.randn(8, 1)
            fast = adapt(net, dict(net.named_parameters()), x, x.sin())
            total = total + nn.functional.mse_loss(functional_call(net, fast, (xq,)), xq.sin())
        total.backward()
        meta.step()
    return torch.equal(net[0].weight, start)


def verify(same):
    assert same


TRUTH = Truth(
    fault="the adapted weights are cut off from the start",
    names=("detach",),
    repair=("return {k: p - lr * g for (k, p), g in zip(params.items(), grads)}",),
)
