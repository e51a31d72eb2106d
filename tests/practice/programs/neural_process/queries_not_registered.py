"""Neural process: nn.Parameter(...).unsqueeze(0) is a plain tensor; the positional queries are neither registered nor learnt."""

import torch
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class AttentiveProcess(nn.Module):
    """Ocean temperature at any depth from a few soundings."""

    def __init__(self, dim=12, inducing=4):
        super().__init__()
        self.embed = nn.Linear(2, dim)
        self.queries = nn.Parameter(0.1 * torch.randn(inducing, dim)).unsqueeze(0)  # cause
        self.compress = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.read = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.where = nn.Linear(1, dim)
        self.out = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, xc, yc, xt):
        context = self.embed(torch.cat([xc, yc], -1))
        queries = self.queries.expand(xc.size(0), -1, -1)
        memory, _ = self.compress(queries, context, context)
        h, _ = self.read(self.where(xt), memory, memory)
        mean, spread = self.out(h).chunk(2, -1)
        return Normal(mean, 0.1 + nn.functional.softplus(spread))


def soundings(n, points=12):
    depth = torch.rand(n, points, 1)
    surface = 15 + 3 * torch.randn(n, 1, 1)
    return depth, (4 + (surface - 4) * torch.exp(-3 * depth)) / 10


def run():
    torch.manual_seed(0)
    model = AttentiveProcess()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    queries = model.queries.detach().clone()
    losses = []
    for _ in range(4):
        x, y = soundings(16)
        loss = -model(x[:, :6], y[:, :6], x).log_prob(y).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return queries, model.queries.detach(), [n for n, _ in model.named_parameters()]


def verify(outcome):
    before, after, names = outcome
    assert torch.equal(before, after)
    assert "queries" not in names


TRUTH = Truth(
    fault="the view is no Parameter, so it is not in parameters()",
    names=("queries",),
    repair=("self.queries = nn.Parameter(torch.randn(1, inducing, dim) * 0.1)",),
)
