"""Spike guard: the skipped batch's gradient stays and is added to that of the next batch."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Forecaster(nn.Module):
    def __init__(self, window=8):
        super().__init__()
        self.encode = nn.Linear(window, 16)
        self.decode = nn.Linear(16, 1)

    def forward(self, x):
        return self.decode(F.silu(self.encode(x))).squeeze(-1)


class SpikeGuard:
    """Refuses batches whose gradient norm is far above its running mean."""

    def __init__(self, factor=10.0):
        self.factor, self.mean, self.skipped = factor, None, 0

    def accepts(self, norm):
        if not math.isfinite(norm) or (self.mean is not None and norm > self.factor * self.mean):
            self.skipped += 1
            return False
        self.mean = norm if self.mean is None else 0.9 * self.mean + 0.1 * norm
        return True


def series(n):
    g = torch.Generator().manual_seed(5)
    for i in range(n):
        x = torch.randn(8, 8, generator=g)
        y = x.mean(1)
        if i == 2:
            y = y + 400.0  # a sensor that failed
        yield x, y


def grad_norm(model):
    return torch.stack([p.grad.norm() for p in model.parameters()]).norm().item()


def run():
    torch.manual_seed(0)
    model = Forecaster()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    guard = SpikeGuard()
    norms = []
    for x, y in series(4):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        norm = grad_norm(model)
        norms.append(norm)
        if not guard.accepts(norm):
            continue  # cause
        optimizer.step()
        optimizer.zero_grad()
    return norms, guard.skipped


def verify(outcome):
    norms, skipped = outcome
    # an ordinary batch is refused too, for ever after
    assert skipped == 2 and norms[3] > 100


TRUTH = Truth(
    fault="a refused batch goes on without zero_grad(), its gradient stays in the next batches",
    names=("zero_grad",),
    repair=("optimizer.zero_grad()\ncontinue",),
)
