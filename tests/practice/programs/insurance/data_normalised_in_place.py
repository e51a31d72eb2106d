"""Insurance claims: the slice of the data set is standardised in place, so the stored data change at each visit."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ClaimData:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def batch(self, start, size):
        return self.x[start : start + size], self.y[start : start + size]


class ClaimFrequency(nn.Module):
    """Poisson regression with a little network."""

    def __init__(self, ratings=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(ratings, 16), nn.ELU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class Standardizer:
    def __init__(self, x):
        self.mean, self.std = x.mean(0), x.std(0)

    def __call__(self, x):
        return x.sub_(self.mean).div_(self.std)  # cause


def portfolio(n):
    x = torch.stack(
        [
            torch.randint(18, 80, (n,)).float(),
            torch.rand(n) * 20,
            torch.rand(n) * 300,
            torch.randint(0, 2, (n,)).float(),
            torch.rand(n) * 12,
            torch.rand(n),
        ],
        1,
    )
    y = torch.poisson(torch.exp(-1 + 0.02 * (50 - x[:, 0]).abs()))
    return ClaimData(x, y)


def epoch(model, optimizer, data, scale, size=16):
    total = 0.0
    for start in range(0, len(data), size):
        x, y = data.batch(start, size)
        loss = F.poisson_nll_loss(model(scale(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(data)


def run():
    torch.manual_seed(0)
    data = portfolio(64)
    raw = data.x.clone()
    scale = Standardizer(data.x)
    model = ClaimFrequency()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    curve = [epoch(model, optimizer, data, scale) for _ in range(3)]
    return raw, data.x, curve


def verify(outcome):
    raw, now, _ = outcome
    assert not torch.equal(raw, now)


TRUTH = Truth(
    fault="sub_ and div_ write through the slice into the data set; from epoch two on the data are standardised again",
    names=("sub_", "div_"),
    repair=("return (x - self.mean) / self.std",),
)
