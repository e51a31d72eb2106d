"""Segmentation: the averaged weights are stored, copied in and taken out by one object, around each validation."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MovingAverage:
    def __init__(self, parameters, decay=0.95):
        self.parameters, self.decay = list(parameters), decay
        self.shadow = [p.detach().clone() for p in self.parameters]
        self.collected = None

    @torch.no_grad()
    def update(self):
        for s, p in zip(self.shadow, self.parameters):
            s.sub_((1 - self.decay) * (s - p))

    def store(self):
        self.collected = [p.detach().clone() for p in self.parameters]

    @torch.no_grad()
    def copy_to(self):
        for s, p in zip(self.shadow, self.parameters):
            p.copy_(s)

    @torch.no_grad()
    def restore(self):
        for c, p in zip(self.collected, self.parameters):
            p.copy_(c)
        self.collected = None


class Segmenter(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.down = nn.Conv2d(1, 6, 3, padding=1)
        self.head = nn.Conv2d(6, classes, 1)

    def forward(self, x):
        return self.head(F.gelu(self.down(x)))


def validate(net, average, x, y):
    average.store()
    average.copy_to()
    net.eval()
    try:
        with torch.no_grad():
            return (net(x).argmax(1) == y).float().mean().item()
    finally:
        net.train()
        average.restore()


def run():
    torch.manual_seed(0)
    net = Segmenter()
    average = MovingAverage(net.parameters())
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    kept = []
    for step in range(6):
        x = torch.randn(4, 1, 6, 6)
        y = (x[:, 0] > 0).long() + (x[:, 0] > 1).long()
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        average.update()
        if step % 2:
            before = net.head.weight.detach().clone()
            validate(net, average, x, y)
            kept.append(torch.equal(before, net.head.weight))
    return kept


def verify(kept):
    assert all(kept)


TRUTH = Truth()
