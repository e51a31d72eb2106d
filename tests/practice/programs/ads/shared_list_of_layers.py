"""Click prediction: [layer] * n puts one and the same cross layer n times into the network."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class CrossLayer(nn.Module):
    """x0 * (W x + b) + x, of Deep & Cross Network v2."""

    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x0, x):
        return x0 * self.linear(x) + x


class DeepAndCross(nn.Module):
    def __init__(self, fields=(10, 8, 5), dim=4, crosses=3):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, dim) for n in fields)
        width = dim * len(fields)
        self.cross = nn.ModuleList([CrossLayer(width)] * crosses)  # cause
        self.deep = nn.Sequential(nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, 8))
        self.logit = nn.Linear(width + 8, 1)

    def forward(self, ids):
        x0 = torch.cat([table(ids[:, i]) for i, table in enumerate(self.tables)], 1)
        x = x0
        for layer in self.cross:
            x = layer(x0, x)
        return self.logit(torch.cat([x, self.deep(x0)], 1)).squeeze(-1)


def impressions(n):
    ids = torch.stack([torch.randint(k, (n,)) for k in (10, 8, 5)], 1)
    click = ((ids[:, 0] * ids[:, 2]) % 3 == 0).float()
    return ids, click


def run():
    torch.manual_seed(0)
    model = DeepAndCross()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    ids, click = impressions(64)
    for _ in range(4):
        loss = F.binary_cross_entropy_with_logits(model(ids), click)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [layer.linear.weight.detach().clone() for layer in model.cross]


def verify(outcome):
    first, second, third = outcome
    assert torch.equal(first, second) and torch.equal(second, third)


TRUTH = Truth(
    fault="three references to one layer: the layers share weights and sum their gradients",
    names=("cross",),
    repair=("self.cross = nn.ModuleList(CrossLayer(width) for _ in range(crosses))",),
)
