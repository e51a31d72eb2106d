"""Regression with NaN targets and a logarithm: inputs are made safe before the operation, so no NaN reaches a gradient."""

import torch
from torch import nn

from tests.practice.truth import Truth


class PositiveRegressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 16), nn.SiLU())
        self.rate, self.gate = nn.Linear(16, 3), nn.Linear(16, 3)

    def forward(self, x):
        h = self.net(x)
        return torch.relu(self.rate(h) + 0.5), self.gate(h)


def safe_log(x):
    positive = x > 0
    return torch.where(positive, torch.where(positive, x, 1.0).log(), 0.0), positive


def loss_fn(rate, gate, target):
    known = ~target.isnan()
    t = torch.where(known, target, 0.0)
    log_rate, positive = safe_log(rate)
    poisson = rate - t * log_rate
    use = known & (positive | (t == 0))
    nll = torch.where(use, poisson, 0.0).sum() / use.sum().clamp(min=1)
    bce = nn.functional.binary_cross_entropy_with_logits(gate, (t > 0).float(), reduction="none")
    return nll + (bce * known).sum() / known.sum().clamp(min=1), known.float().mean().item()


def norm_without_nan(x):
    sq = x.pow(2).sum(-1)
    zero = sq == 0
    return torch.where(zero, 0.0, torch.where(zero, 1.0, sq).sqrt())


def run():
    torch.manual_seed(0)
    model = PositiveRegressor()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    log = []
    for step in range(4):
        x = torch.randn(10, 5)
        target = torch.poisson(torch.rand(10, 3) * 2)
        target[torch.rand(10, 3) < 0.3] = float("nan")
        if step == 2:
            target[:, 1] = float("nan")
        rate, gate = model(x)
        loss, known = loss_fn(rate, gate, target)
        loss = loss + 1e-3 * norm_without_nan(rate).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append((loss.item(), known, (rate == 0).sum().item()))
    return model, log


TRUTH = Truth()


def verify(out):
    model, log = out
    assert all(torch.isfinite(p.grad).all() and p.grad.abs().sum() > 0 for p in model.parameters())
    assert all(abs(loss) < 100 and 0 < known < 1 for loss, known, _ in log) and any(z > 0 for *_, z in log)
