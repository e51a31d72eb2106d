"""PETS: the learned bounds of the log variance require grad, and are no Parameters of the ensemble."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EnsembleModel(nn.Module):
    def __init__(self, state=3, action=1, members=3, hidden=24):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(members, state + action, hidden) / 2)
        self.b1 = nn.Parameter(torch.zeros(members, 1, hidden))
        self.w2 = nn.Parameter(torch.randn(members, hidden, 2 * state) / 5)
        self.b2 = nn.Parameter(torch.zeros(members, 1, 2 * state))
        self.max_log_var = torch.full((1, 1, state), 0.5, requires_grad=True)  # cause
        self.min_log_var = torch.full((1, 1, state), -5.0, requires_grad=True)  # also

    def forward(self, x):
        h = F.silu(x @ self.w1 + self.b1)
        mean, log_var = (h @ self.w2 + self.b2).chunk(2, -1)
        log_var = self.max_log_var - F.softplus(self.max_log_var - log_var)
        return mean, self.min_log_var + F.softplus(log_var - self.min_log_var)

    def loss(self, x, y):
        mean, log_var = self(x)
        nll = ((mean - y) ** 2 * (-log_var).exp() + log_var).mean((1, 2)).sum()
        return nll + 0.01 * (self.max_log_var.sum() - self.min_log_var.sum())


def run():
    torch.manual_seed(0)
    model = EnsembleModel()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-5)
    states, actions = torch.randn(3, 64, 3), torch.rand(3, 64, 1)
    x, y = torch.cat([states, actions], -1), states * 0.1 + actions
    for rows in torch.randperm(64).split(16):
        opt.zero_grad()
        loss = model.loss(x[:, rows], y[:, rows])
        loss.backward()
        opt.step()
    return model.max_log_var, model.min_log_var


def verify(out):
    assert (out[0] == 0.5).all()


TRUTH = Truth(
    fault="parameters() does not know the bounds, so no optimizer moves them",
    names=("max_log_var",),
    repair=("self.max_log_var = nn.Parameter(torch.full((1, 1, state), 0.5))",),
)
