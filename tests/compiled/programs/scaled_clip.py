"""Segmentation with a gradient scaler: compiled net, clipping, optimizer step."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the gradients are clipped while they are still multiplied by the loss scale, so the step is tiny",
    names=("clip_grad_norm_", "unscale_", "scaler"),
    repair=("scaler.unscale_(optimizer); total = nn.utils.clip_grad_norm_(net.parameters(), 1.0)",),
)


class Segment(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 6, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(6, 6, 2, stride=2)
        self.out = nn.Conv2d(6, 2, 1)

    def forward(self, image):
        return self.out(torch.relu(self.up(torch.relu(self.down(image)))))


def setup():
    torch.manual_seed(0)


def run():
    net = Segment()
    forward = torch.compile(net, backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    totals, moves = [], []
    for _ in range(3):
        image = torch.randn(2, 1, 8, 8)
        mask = (image[:, 0] > 0).long()
        with torch.autocast("cpu", torch.bfloat16):
            loss = nn.functional.cross_entropy(forward(image).float(), mask)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        total = nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # cause
        before = [p.detach().clone() for p in net.parameters()]
        scaler.step(optimizer)  # symptom
        scaler.update()
        totals.append(total.item())
        moves.append(sum((p - b).square().sum() for p, b in zip(net.parameters(), before)).sqrt().item())
    return totals, moves


def verify(outcome):
    totals, moves = outcome
    assert min(totals) > 10
    assert max(moves) < 2e-4
