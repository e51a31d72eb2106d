"""The row of the padding is set to zero in place, with gradients recorded."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Bag(nn.Module):
    def __init__(self, words=30, dim=8, pad=0):
        super().__init__()
        self.emb = nn.Embedding(words, dim)
        self.emb.weight[pad] = 0.0  # cause
        self.out = nn.Linear(dim, 2)

    def forward(self, ids):
        return self.out(self.emb(ids).mean(1))


def run():
    torch.manual_seed(0)
    net = Bag()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    loss = nn.functional.cross_entropy(net(torch.randint(30, (4, 5))), torch.randint(2, (4,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    return net


TRUTH = Truth(
    fault="a leaf that requires grad is edited in place",
    raises="a view of a leaf Variable that requires grad is being used in an in-place operation",
    repair=("with torch.no_grad():\n    self.emb.weight[pad] = 0.0",),
)
