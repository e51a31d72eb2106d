"""A Muon-like optimizer computes the new weight out of place, and binds it to its own variable."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Orthogonal(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                momentum = self.state[p].setdefault("momentum", torch.zeros_like(p))
                momentum.mul_(0.9).add_(p.grad)
                u, _, v = torch.linalg.svd(momentum, full_matrices=False)
                p = p - group["lr"] * (u @ v)  # cause


def run():
    torch.manual_seed(0)
    w = nn.Linear(4, 4, bias=False)
    opt = Orthogonal(w.parameters(), lr=0.1)
    before = w.weight.detach().clone()
    for _ in range(3):
        loss = w(torch.randn(8, 4)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return (w.weight - before).abs().max().item()


def verify(out):
    assert out == 0.0


TRUTH = Truth(fault="the step writes no parameter", repair=('p.sub_(group["lr"] * (u @ v))',))
