"""The running sum of the tasks' gradients is kept after each backward, and taken apart by slices."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    trunk, heads = nn.Linear(5, 6), nn.ModuleList(nn.Linear(6, 1) for _ in range(3))
    opt = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], 1e-2)
    for _ in range(3):
        opt.zero_grad()
        h, sums = trunk(torch.randn(8, 5)).tanh(), []
        for head in heads:
            (head(h) - torch.randn(8, 1)).pow(2).mean().backward(retain_graph=True)
            sums.append(trunk.weight.grad.flatten().clone())
        sums = torch.stack(sums)
        each = torch.cat([sums[:1], sums[1:] - sums[:-1]])
        trunk.weight.grad = (each / each.norm(dim=1, keepdim=True)).mean(0).view_as(trunk.weight)
        opt.step()


TRUTH = Truth()
