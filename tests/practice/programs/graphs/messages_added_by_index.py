"""Message passing with index_add, degrees as constants, and a readout by scatter_reduce."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Layer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.message, self.own = nn.Linear(i, o), nn.Linear(i, o)

    def forward(self, x, edges):
        src, dst = edges
        degree = torch.zeros(len(x)).index_add_(0, dst, torch.ones(len(dst))).clamp_(min=1)
        out = torch.zeros(len(x), self.own.out_features).index_add(0, dst, self.message(x[src]))
        return torch.relu(out / degree[:, None] + self.own(x))


def run():
    torch.manual_seed(0)
    one, two = Layer(5, 8), Layer(8, 3)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()], 1e-2)
    edges, graph = torch.randint(10, (2, 40)), torch.arange(10) // 5
    for _ in range(3):
        x, y = torch.randn(10, 5), torch.randint(3, (2,))
        h = two(one(x, edges), edges)
        pooled = torch.zeros(2, 3).scatter_reduce(0, graph[:, None].expand(-1, 3), h, "amax", include_self=False)
        opt.zero_grad()
        nn.functional.cross_entropy(pooled, y).backward()
        opt.step()
    return one


TRUTH = Truth()
