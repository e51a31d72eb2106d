"""Column- and row-parallel layers; the gradient of what goes into the column part is not summed."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(6)
        self.up = nn.Linear(6, 4)
        self.down = nn.Linear(4, 6, bias=False)

    def forward(self, x):
        h = self.norm(x)
        h = self.up(h)  # cause
        return x + Reduce.apply(self.down(torch.tanh(h)))  # also


def setup():
    global net, opt
    torch.manual_seed(0)
    net = Block()
    with torch.no_grad():
        for p in (net.up.weight, net.up.bias, net.down.weight):
            p.add_(0.1 * (dist.get_rank() + 1) * torch.randn_like(p))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(5)
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(3, 6, generator=g)).pow(2).mean().backward()
        opt.step()  # also


TRUTH = Truth(fault="no all_reduce in backward", rule="AG601", names=("norm.weight",), values=True, where="any")
