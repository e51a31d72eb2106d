"""Poisson-like loss with torch.where: the branch that is not taken has an infinite slope, and the gradient becomes NaN."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class RateModel(nn.Module):
    """Predicts claims: a positive rate times the exposure, which is zero for policies that have lapsed."""

    def __init__(self, n_in=6):
        super().__init__()
        self.hidden = nn.Linear(n_in, 12)
        self.rate = nn.Linear(12, 1)

    def forward(self, x, exposure):
        rate = nn.functional.softplus(self.rate(torch.tanh(self.hidden(x))))
        return rate.squeeze(1) * exposure


class ClaimsLoss(nn.Module):
    def __init__(self, penalty=0.1):
        super().__init__()
        self.penalty = penalty

    def forward(self, rate, count):
        log_rate = torch.where(rate > 0, torch.log(rate), torch.zeros_like(rate))  # cause
        nll = rate - count * log_rate
        return nll.mean() + self.penalty * rate.pow(2).mean()


class DataGen:
    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)

    def next(self, n=20):
        x = torch.randn(n, 6, generator=self.g)
        exposure = torch.randint(0, 4, (n,), generator=self.g) / 4
        return x, exposure, torch.poisson(x[:, 0].exp().clamp(max=5) * exposure, generator=self.g)


def run():
    torch.manual_seed(1)
    data, model, criterion = DataGen(0), RateModel(), ClaimsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    log = []
    for epoch in range(3):
        x, exposure, count = data.next()
        loss = criterion(model(x, exposure), count)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append((loss.item(), torch.isnan(model.hidden.weight.grad).any().item()))
    return log


def verify(log):
    first_loss, nan_grad = log[0]
    assert first_loss == first_loss and nan_grad
    assert log[-1][0] != log[-1][0]


TRUTH = Truth(
    fault="log(0) in the branch of where that is not taken has gradient 0 * inf = NaN",
    values=True,
    names=("log",),
    repair=("log_rate = torch.log(torch.where(rate > 0, rate, torch.ones_like(rate)))",),
)
