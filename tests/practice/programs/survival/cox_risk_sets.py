"""Survival analysis: the partial likelihood is rebuilt with torch.tensor(), so only the penalty trains the network."""

from dataclasses import dataclass

import torch
from torch import nn

from tests.practice.truth import Truth


@dataclass
class Config:
    genes: int = 12
    hidden: int = 16
    lr: float = 1e-2
    ridge: float = 1e-3
    epochs: int = 4


class RiskNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(cfg.genes, cfg.hidden), nn.SELU(), nn.Linear(cfg.hidden, cfg.hidden), nn.SELU()
        )
        self.hazard = nn.Linear(cfg.hidden, 1, bias=False)
        self.log_ridge = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return self.hazard(self.body(x)).squeeze(-1)


def partial_likelihood(risk, time, event):
    """Negative Cox log likelihood, one term for each patient who died."""
    terms = []
    for i in torch.nonzero(event).flatten().tolist():
        at_risk = time >= time[i]
        terms.append(torch.logsumexp(risk[at_risk], 0) - risk[i])
    return torch.tensor(terms).mean()  # cause


def cohort(n, genes):
    x = torch.randn(n, genes)
    time = torch.exp(-x[:, 0] + 0.1 * torch.randn(n))
    event = torch.rand(n) < 0.7
    return x, time, event


def run():
    torch.manual_seed(0)
    cfg = Config()
    model = RiskNet(cfg)
    x, time, event = cohort(40, cfg.genes)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr)
    before = model.body[0].weight.detach().clone()
    for _ in range(cfg.epochs):
        optimizer.zero_grad()
        risk = model(x)
        penalty = cfg.ridge * model.log_ridge.exp() * model.hazard.weight.square().sum()
        loss = partial_likelihood(risk, time, event) + penalty
        loss.backward()
        optimizer.step()
    return before, model.body[0].weight.detach()


def verify(outcome):
    before, after = outcome
    assert torch.equal(before, after)


TRUTH = Truth(
    fault="torch.tensor() copies the terms' numbers out of the graph; the likelihood has no gradient",
    names=("torch.tensor",),
    repair=("return torch.stack(terms).mean()",),
)
