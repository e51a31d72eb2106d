"""An adapter whose low-rank product is built of `.data`: the factors get no gradient, the head alone learns."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Adapted(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.weight = base.weight
        self.bias = base.bias
        self.weight.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.B = nn.Parameter(torch.randn(base.out_features, rank) * 0.1)

    def forward(self, x):
        delta = self.B.data @ self.A.data  # cause
        return nn.functional.linear(x, self.weight + delta, self.bias)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(Adapted(nn.Linear(6, 8)), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), 1e-2)
    for _ in range(2):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(9, 6)), torch.randint(2, (9,))).backward()
        opt.step()
    return net


def verify(net):
    assert net[0].A.grad is None and net[0].B.grad is None


TRUTH = Truth(fault="the factors are read as data", names=(".data",), repair=("delta = self.B @ self.A",))
