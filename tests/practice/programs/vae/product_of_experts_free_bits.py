"""A product of two encoders with free bits: a dimension whose KL is under the floor gets no gradient from it, as is meant."""

import torch
from torch import nn
from torch.distributions import Independent, Normal, kl_divergence

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.Tanh())
        self.loc, self.scale = nn.Linear(16, 4), nn.Linear(16, 4)

    def forward(self, x):
        h = self.net(x)
        return Normal(self.loc(h), nn.functional.softplus(self.scale(h)) + 1e-4)


def beta_at(step, period=2):
    return min(1.0, (step % period + 1) / period)


def run():
    torch.manual_seed(0)
    image, text = Encoder(), Encoder()
    decoder = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 8))
    params = [p for m in (image, text, decoder) for p in m.parameters()]
    optimizer = torch.optim.Adamax(params, lr=2e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=4)
    prior = Normal(torch.zeros(4), torch.ones(4))
    floors, losses = [], []
    for step in range(4):
        x, t = torch.randn(8, 8), torch.randn(8, 8)
        q_x, q_t = image(x), text(t)
        precision_x, precision_t = q_x.scale.pow(-2), q_t.scale.pow(-2)
        var = 1 / (1 + precision_x + precision_t)
        q = Normal(var * (q_x.loc * precision_x + q_t.loc * precision_t), var.sqrt())
        recon = Independent(Normal(decoder(q.rsample()), 1.0), 1).log_prob(x).mean()
        kl = kl_divergence(q, prior).mean(0)
        free = torch.clamp(kl, min=0.5)
        loss = -recon + beta_at(step) * free.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        floors.append((kl < 0.5).sum().item())
        losses.append(loss.item())
    return params, floors, losses


TRUTH = Truth()


def verify(out):
    params, floors, losses = out
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in params)
    assert all(0 < loss < 1e3 for loss in losses)
