"""MAML: the fast weights start as detached leaves, so the outer loss never reaches the initialisation."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    meta = torch.optim.Adam(net.parameters(), 1e-2)
    before = net.weight.detach().clone()
    for _ in range(2):
        x, y = torch.randn(8, 3), torch.randn(8, 1)
        fast = {k: v.clone().detach().requires_grad_() for k, v in net.named_parameters()}  # cause
        inner = F.mse_loss(functional_call(net, fast, (x,)), y)
        grads = torch.autograd.grad(inner, list(fast.values()), create_graph=True)
        fast = {k: v - 0.1 * g for (k, v), g in zip(fast.items(), grads)}
        outer = F.mse_loss(functional_call(net, fast, (torch.randn(8, 3),)), torch.randn(8, 1))
        meta.zero_grad()
        outer.backward()
        meta.step()
    return torch.equal(before, net.weight)


def verify(out):
    assert out


TRUTH = Truth(
    fault="the initialisation gets no meta gradient", repair=("fast = dict(net.named_parameters())",), names=("detach",)
)
