"""Colours are matched by histograms, which have no derivative: the compiled loss ends no graph."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG104 AG106"
NAMES = ("histc",)
RAISES = "does not require grad"


@torch.compile(backend=BACKEND)
def histogram_loss(image, reference):
    made = torch.histc(image, bins=8, min=0.0, max=1.0)  # cause
    wanted = torch.histc(reference, bins=8, min=0.0, max=1.0)
    return (made - wanted).abs().mean()


def setup():
    global grade, optimizer
    torch.manual_seed(0)
    grade = nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU(), nn.Conv2d(8, 3, 1), nn.Sigmoid())
    optimizer = torch.optim.Adam(grade.parameters(), lr=1e-3)


def run():
    for _ in range(2):
        loss = histogram_loss(grade(torch.rand(1, 3, 6, 6)), torch.rand(1, 3, 6, 6))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
