"""Segmentation: the down blocks of a small U-Net are compiled one by one and checkpointed to save memory."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the recomputation runs the batch norms once more: their running statistics are moved twice a step",
    names=("running_mean", "checkpoint", "down"),
    minor=True,
    repair=("x = block(x)",),
)


def down(inner, outer):
    return nn.Sequential(nn.Conv2d(inner, outer, 3, 2, 1, bias=False), nn.BatchNorm2d(outer), nn.LeakyReLU(0.1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, padding=1)
        self.down = nn.ModuleList([down(4, 6), down(6, 8)])
        self.up = nn.ModuleList([nn.Conv2d(8 + 6, 6, 3, padding=1), nn.Conv2d(6 + 4, 4, 3, padding=1)])
        self.mask = nn.Conv2d(4, 1, 1)
        for block in self.down:
            block.compile(backend=BACKEND)

    def forward(self, image):
        x = self.stem(image)
        skips = []
        for block in self.down:
            skips.append(x)
            x = checkpoint(block, x, use_reentrant=False)  # cause
        for conv, skip in zip(self.up, reversed(skips)):
            x = F.relu(conv(torch.cat([F.interpolate(x, scale_factor=2.0), skip], 1)))
        return self.mask(x)


def dice(logits, target):
    p = torch.sigmoid(logits)
    return 1 - (2 * (p * target).sum() + 1) / (p.sum() + target.sum() + 1)


def setup():
    torch.manual_seed(0)


def run():
    net = UNet()
    net.train()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(4):
        image = torch.rand(4, 1, 16, 16)
        target = (F.avg_pool2d(image, 5, 1, 2) > 0.5).float()
        logits = net(image)
        loss = dice(logits, target) + F.binary_cross_entropy_with_logits(logits, target)
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
    return [block[1].num_batches_tracked.item() for block in net.down]


def verify(outcome):
    assert outcome == [8, 8]
