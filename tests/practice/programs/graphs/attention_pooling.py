"""Attention over the nodes of a graph, which pads some; single nodes get the whole weight."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Pool(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.embed = nn.Linear(4, dim)
        self.score = nn.Sequential(nn.Linear(dim, 4), nn.Tanh(), nn.Linear(4, 1))
        self.out = nn.Linear(dim, 2)

    def forward(self, nodes, sizes):
        h = torch.relu(self.embed(nodes))
        there = torch.arange(nodes.shape[1]) < sizes[:, None]
        logits = self.score(h).squeeze(-1).masked_fill(~there, float("-inf"))
        return self.out((logits.softmax(1)[..., None] * h).sum(1))


def run():
    torch.manual_seed(0)
    net = Pool()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(3):
        sizes = torch.tensor([1, 5, 9, 2, 7, 1])
        loss = nn.functional.cross_entropy(net(torch.randn(6, 9, 4), sizes), torch.randint(2, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


TRUTH = Truth()
