"""The second phase unfreezes the backbone, which compiles anew; the optimizer was made of what learned before."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG404"
NAMES = ("backbone",)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.Linear(8, 8), nn.GELU())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.backbone(x))


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = Classifier()
    model.backbone.requires_grad_(False)
    model.compile(backend=BACKEND)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)


def run():
    for epoch in range(4):
        if epoch == 2:
            model.backbone.requires_grad_(True)
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(4, 5)), torch.randint(2, (4,))).backward()
        optimizer.step()
