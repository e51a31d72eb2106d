"""Gradient noise scale from accumulated micro-batches: in-place bookkeeping on grads, all of it right."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Mixer(nn.Module):
    def __init__(self, tokens=4, dim=6):
        super().__init__()
        self.token = nn.Linear(tokens, tokens)
        self.channel = nn.Linear(dim, dim)
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        x = x + self.token(x.transpose(1, 2)).transpose(1, 2)
        x = x + F.gelu(self.channel(x))
        return self.head(x.mean(1))


class NoiseScale:
    """McCandlish et al.: trace of the covariance over the squared norm, from small and big batches."""

    def __init__(self, model, small, big):
        self.params = list(model.parameters())
        self.small, self.big = small, big
        self.previous = [torch.zeros_like(p) for p in self.params]
        self.small_norms = []

    def after_micro(self):
        squared = 0.0
        for p, last in zip(self.params, self.previous):
            squared += (p.grad - last).pow(2).sum()
            last.copy_(p.grad)
        self.small_norms.append(squared)

    def after_batch(self, micros):
        for p, last in zip(self.params, self.previous):
            p.grad.div_(micros)
            last.zero_()
        big = sum(p.grad.pow(2).sum() for p in self.params)
        small = torch.stack(self.small_norms).mean()
        self.small_norms.clear()
        signal = (self.big * big - self.small * small) / (self.big - self.small)
        noise = (small - big) / (1 / self.small - 1 / self.big)
        return (noise / signal.abs()).item()


def run():
    torch.manual_seed(0)
    model = Mixer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    micros, size = 4, 8
    monitor = NoiseScale(model, size, micros * size)
    errors, scales = [], []
    for _ in range(3):
        x, y = torch.randn(micros * size, 4, 6), torch.randint(0, 2, (micros * size,))
        whole = torch.autograd.grad(F.cross_entropy(model(x), y), monitor.params)
        optimizer.zero_grad()
        for part, target in zip(x.chunk(micros), y.chunk(micros)):
            F.cross_entropy(model(part), target).backward()
            monitor.after_micro()
        scales.append(monitor.after_batch(micros))
        errors.append(max((p.grad - g).abs().max().item() for p, g in zip(monitor.params, whole)))
        optimizer.step()
    return errors, scales, [int(s["step"]) for s in optimizer.state.values()]


def verify(outcome):
    errors, scales, steps = outcome
    assert max(errors) < 1e-5
    assert all(s > 0 for s in scales)
    assert set(steps) == {3}


TRUTH = Truth()
