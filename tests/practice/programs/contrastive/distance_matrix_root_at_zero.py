"""Metric learning: the root of a squared distance that is zero on the diagonal gives NaN gradients."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, x):
        return self.net(x)


def pairwise(z):
    sq = (z[:, None] - z[None]).pow(2).sum(-1)
    return sq.sqrt()  # cause


def hard_triplets(z, y, margin=0.3):
    d = pairwise(z)
    same = y[:, None] == y[None]
    pos = (d * same).amax(1)
    neg = (d + 1e3 * same).amin(1)
    return torch.relu(pos - neg + margin).mean()


def run():
    torch.manual_seed(0)
    model = Embedder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        loss = hard_triplets(model(torch.randn(8, 5)), torch.arange(8) % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.net[0].weight


TRUTH = Truth(
    fault="the derivative of the root at 0 is infinite",
    values=True,
    repair=("return (sq + 1e-12).sqrt()",),
)


def verify(weight):
    assert weight.isnan().any()
