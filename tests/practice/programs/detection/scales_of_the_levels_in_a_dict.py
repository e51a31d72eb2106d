"""FCOS: the learned scale of each pyramid level is kept in a plain dict."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

LEVELS = ("p3", "p4", "p5")


class Scale(nn.Module):
    def __init__(self, value=1.0):
        super().__init__()
        self.value = nn.Parameter(torch.tensor(value))

    def forward(self, x):
        return x * self.value


class FCOSHead(nn.Module):
    def __init__(self, channels=8, classes=4):
        super().__init__()
        self.tower = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.GroupNorm(2, channels), nn.ReLU())
        self.cls = nn.Conv2d(channels, classes, 3, padding=1)
        self.centre = nn.Conv2d(channels, 1, 3, padding=1)
        self.reg = nn.Conv2d(channels, 4, 3, padding=1)
        self.scales = {name: Scale() for name in LEVELS}  # cause

    def forward(self, pyramid):
        out = {}
        for name, feature in pyramid.items():
            h = self.tower(feature)
            distances = self.scales[name](self.reg(h)).exp()
            out[name] = self.cls(h), self.centre(h), distances
        return out


def losses(out):
    total = 0.0
    for scores, centre, distances in out.values():
        labels = (torch.rand_like(scores) < 0.1).float()
        wanted = torch.rand_like(distances) * 4
        total = total + F.binary_cross_entropy_with_logits(scores, labels)
        total = total + F.l1_loss(distances, wanted) + F.binary_cross_entropy_with_logits(centre, labels[:, :1])
    return total


def run(steps=3):
    torch.manual_seed(0)
    head = FCOSHead()
    optimizer = torch.optim.SGD(head.parameters(), lr=1e-2, momentum=0.9)
    for _ in range(steps):
        pyramid = {name: torch.randn(2, 8, 8 >> i, 8 >> i) for i, name in enumerate(LEVELS)}
        loss = losses(head(pyramid))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(head.parameters(), 10.0)
        optimizer.step()
    return head


def verify(head):
    values = [head.scales[name].value.item() for name in LEVELS]
    assert values == [1.0, 1.0, 1.0]


TRUTH = Truth(
    fault="modules in a dict are not registered: the scales are in no optimizer",
    names=("scales",),
    repair=("self.scales = nn.ModuleDict({name: Scale() for name in LEVELS})",),
)
