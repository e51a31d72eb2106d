"""A residual is added in place to the output of tanh, which its backward needs."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin, self.norm = nn.Linear(dim, dim), nn.LayerNorm(dim)

    def forward(self, x):
        out = torch.tanh(self.lin(self.norm(x)))
        out += x  # cause
        return out


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), Block(8), Block(8), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(2):
        loss = net(torch.randn(8, 4)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


TRUTH = Truth(
    fault="the output of tanh is overwritten before its backward",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("tanh",),
    repair=("out = out + x",),
)
