"""Schedule-free AdamW with its two modes and recalibrated batch norm."""

import schedulefree
import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def make_net():
    return nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 3))


def batches(n, seed):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n):
        x = torch.randn(16, 6, generator=g)
        yield x, x[:, :3].argmax(-1)


def train_epoch(model, opt, seed):
    model.train()
    opt.train()
    for x, y in batches(5, seed):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


@torch.no_grad()
def evaluate(model, opt, seed):
    model.train()
    opt.eval()
    for x, _ in batches(5, seed):
        model(x)
    model.eval()
    losses = [F.cross_entropy(model(x), y).item() for x, y in batches(3, 1000)]
    return sum(losses) / len(losses)


def run():
    torch.manual_seed(0)
    model = make_net()
    opt = schedulefree.AdamWScheduleFree(model.parameters(), lr=2e-2, warmup_steps=3)
    history = []
    for epoch in range(3):
        train_epoch(model, opt, epoch)
        history.append(evaluate(model, opt, epoch))
    return history


TRUTH = Truth()


def verify(out):
    assert out[-1] < out[0]
