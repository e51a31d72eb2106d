"""Only the head of a compiled network is trained, but train() sets the frozen backbone's batch norms going again."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=1),
            nn.BatchNorm2d(8),
        )
        self.head = nn.Sequential(nn.ReLU(), nn.Dropout2d(0.1), nn.Conv2d(8, 2, 1))

    def forward(self, x):
        return self.head(self.backbone(x))


def epoch(forward, model, optimizer):
    model.train()  # cause
    for _ in range(2):
        x = torch.randn(4, 3, 6, 6) + 1.5
        loss = F.cross_entropy(forward(x), (x[:, 0] > 1.5).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def accuracy(forward, model):
    model.eval()
    x = torch.randn(4, 3, 6, 6) + 1.5
    return (forward(x).argmax(1) == (x[:, 0] > 1.5)).float().mean()


def run():
    torch.manual_seed(0)
    model = Segmenter()
    model.backbone.requires_grad_(False).eval()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.AdamW(model.head.parameters(), lr=1e-2)
    before = {name: b.clone() for name, b in model.backbone.named_buffers()}
    for _ in range(2):
        epoch(forward, model, optimizer)
        accuracy(forward, model)
    return {name: (b - before[name]).abs().max().item() for name, b in model.backbone.named_buffers()}


def verify(outcome):
    assert all(moved > 0 for moved in outcome.values())


TRUTH = Truth(
    fault="train() reaches the frozen backbone: its running statistics move",
    names=("running statistics", "backbone"),
    repair=("model.train(); model.backbone.eval()",),
)
