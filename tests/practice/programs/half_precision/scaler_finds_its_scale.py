"""Half precision: the scaler begins too high and skips two steps before it settles; clipping is done on unscaled gradients. Healthy."""
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TideGauge(nn.Module):
    def __init__(self, lags=8):
        super().__init__()
        self.norm = nn.LayerNorm(lags)
        self.net = nn.Sequential(nn.Linear(lags, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(self.norm(x)).squeeze(-1)


class MasterWeights:
    """float32 masters, a float16 copy for forward and backward."""

    def __init__(self, model, lr):
        self.model = model.half()
        self.masters = [p.detach().float().requires_grad_(True) for p in model.parameters()]
        self.optimizer = torch.optim.Adam(self.masters, lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 19, growth_interval=1000)
        self.skipped = 0

    def step(self, x, y):
        self.model.zero_grad()
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.model(x.half()).float(), y)
        self.scaler.scale(loss).backward()
        for master, p in zip(self.masters, self.model.parameters()):
            master.grad = p.grad.float()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.masters, 1.0)
        scale = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.skipped += self.scaler.get_scale() < scale
        with torch.no_grad():
            for master, p in zip(self.masters, self.model.parameters()):
                p.copy_(master)
        return loss.item()


def gauge(n, lags=8):
    t = torch.rand(n, 1) * 20 + torch.arange(lags + 1) * 0.5
    level = torch.sin(t) + 0.3 * torch.sin(2.1 * t)
    return level[:, :-1], level[:, -1]


def run():
    torch.manual_seed(0)
    trainer = MasterWeights(TideGauge(), lr=1e-2)
    data = gauge(32)
    start = [m.detach().clone() for m in trainer.masters]
    losses = [trainer.step(*data) for _ in range(8)]
    return start, trainer.masters, trainer.skipped, losses


def verify(outcome):
    start, now, skipped, losses = outcome
    assert 1 <= skipped <= 5, skipped
    assert all(not torch.equal(a, b) for a, b in zip(start, now))
    assert losses[-1] < losses[0]


TRUTH = Truth()
