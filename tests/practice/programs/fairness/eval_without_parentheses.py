"""Fair credit scoring: `model.eval` without parentheses, so the audit runs with dropout and moves the batch norm."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class CreditNet(nn.Module):
    def __init__(self, features=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(features, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1)
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def applicants(n):
    group = (torch.rand(n) < 0.4).float()
    x = torch.randn(n, 8) + group[:, None] * 0.5
    return x, (x[:, 0] + x[:, 1] > 0.5).float(), group


def parity_gap(logit, group):
    p = logit.sigmoid()
    return (p[group > 0.5].mean() - p[group < 0.5].mean()).abs()


@torch.no_grad()
def audit(model, x, group):
    model.eval  # cause
    gap = parity_gap(model(x), group).item()
    model.train()
    return gap


def train_epoch(model, optimizer, data, fairness=0.5):
    x, y, group = data
    for rows in torch.randperm(x.size(0)).split(32):
        logit = model(x[rows])
        loss = F.binary_cross_entropy_with_logits(logit, y[rows]) + fairness * parity_gap(logit, group[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = CreditNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    data = applicants(64)
    held_out = applicants(64)
    gaps = []
    for _ in range(2):
        train_epoch(model, optimizer, data)
        gaps.append(audit(model, held_out[0], held_out[2]))
    mean = model.net[1].running_mean.clone()
    audit(model, held_out[0] + 1, held_out[2])
    return mean, model.net[1].running_mean.clone()


def verify(outcome):
    before, after = outcome
    assert not torch.equal(before, after)


TRUTH = Truth(
    fault="eval is named but not called: the audit is made in training mode",
    names=("eval",),
    repair=("model.eval()",),
)
