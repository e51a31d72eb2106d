"""Integrated gradients of a validation sample between training steps; parameters frozen for it and thawed after."""

from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Scorer(nn.Module):
    def __init__(self, dim=7):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 3))

    def forward(self, x):
        return self.layers(x)


@contextmanager
def attribution_mode(model):
    flags = [(p, p.requires_grad) for p in model.parameters()]
    training = model.training
    model.eval()
    model.requires_grad_(False)
    try:
        yield
    finally:
        for p, flag in flags:
            p.requires_grad_(flag)
        model.train(training)


def integrated_gradients(model, x, target, steps=64):
    baseline = torch.zeros_like(x)
    alphas = (torch.arange(steps) + 0.5) / steps
    path = (baseline + alphas[:, None] * (x - baseline)).detach().requires_grad_()
    scores = model(path)[:, target].sum()
    (grads,) = torch.autograd.grad(scores, path)
    return (x - baseline) * grads.mean(0)


def run():
    torch.manual_seed(0)
    model = Scorer()
    model.layers[0].bias.requires_grad_(False)  # found not to help
    optimizer = torch.optim.RMSprop((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    start = [p.detach().clone() for p in model.parameters()]
    probe = torch.randn(7)
    gaps = []
    for _ in range(3):
        x, y = torch.randn(16, 7), torch.randint(0, 3, (16,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        with attribution_mode(model):
            attribution = integrated_gradients(model, probe, target=1)
            with torch.no_grad():
                difference = model(probe[None])[0, 1] - model(torch.zeros(1, 7))[0, 1]
        gaps.append((attribution.sum() - difference).abs().item())
        optimizer.step()
    moved = [not torch.equal(a, b) for a, b in zip(start, model.parameters())]
    return gaps, moved, model.training


def verify(outcome):
    gaps, moved, training = outcome
    assert max(gaps) < 1e-3
    assert moved == [True, False, True, True]
    assert training


TRUTH = Truth()
