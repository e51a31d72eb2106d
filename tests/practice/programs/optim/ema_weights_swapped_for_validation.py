"""Averaged weights are swapped in for validation and out again after it, by copies of the data."""

import contextlib

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ExponentialMovingAverage:
    def __init__(self, parameters, decay):
        self.decay, self.num_updates = decay, 0
        self.shadow_params = [p.clone().detach() for p in parameters]
        self.collected = []

    def update(self, parameters):
        self.num_updates += 1
        decay = min(self.decay, (1 + self.num_updates) / (10 + self.num_updates))
        with torch.no_grad():
            for s, p in zip(self.shadow_params, parameters):
                s.sub_((1.0 - decay) * (s - p))

    @contextlib.contextmanager
    def average_parameters(self, parameters):
        parameters = list(parameters)
        self.collected = [p.clone() for p in parameters]
        for s, p in zip(self.shadow_params, parameters):
            p.data.copy_(s.data)
        try:
            yield
        finally:
            for c, p in zip(self.collected, parameters):
                p.data.copy_(c.data)
            self.collected = []


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 12), nn.LeakyReLU(), nn.Linear(12, 2))
    ema = ExponentialMovingAverage(model.parameters(), 0.995)
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
    xv, yv = torch.randn(16, 4), torch.randint(2, (16,))
    log, same = [], []
    for _ in range(3):
        for _ in range(2):
            x = torch.randn(8, 4)
            loss = F.cross_entropy(model(x), (x[:, 0] > 0).long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update(model.parameters())
        now = [p.detach().clone() for p in model.parameters()]
        with torch.no_grad(), ema.average_parameters(model.parameters()):
            averaged = F.cross_entropy(model(xv), yv).item()
        same.append(all(torch.equal(a, b) for a, b in zip(now, model.parameters())))
        log.append((loss.item(), averaged))
    return model, ema, log, same


TRUTH = Truth()


def verify(out):
    model, ema, log, same = out
    assert all(same) and not any(s.requires_grad for s in ema.shadow_params)
    assert not torch.equal(ema.shadow_params[0], model[0].weight)
    assert all(0 < v < 100 for row in log for v in row)
