"""Attention over neighbours is normalised over the wrong dimension, which has one entry."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Pool(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.embed = nn.Linear(4, dim)
        self.score = nn.Linear(dim, 1)
        self.out = nn.Linear(dim, 2)

    def forward(self, nodes):
        h = torch.relu(self.embed(nodes))
        weights = torch.softmax(self.score(h), dim=-1)  # cause
        return self.out((weights * h).sum(1))


def run():
    torch.manual_seed(0)
    net = Pool()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(3):
        loss = nn.functional.cross_entropy(net(torch.randn(6, 9, 4)), torch.randint(2, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


def verify(net):
    assert net.score.weight.grad.abs().max() == 0


TRUTH = Truth(
    fault="softmax over one entry is 1 and has no gradient",
    names=("score", "softmax"),
    repair=("weights = torch.softmax(self.score(h), dim=1)",),
)
