"""Features cached under inference_mode go into a compiled head, deep in which autograd cannot save them."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG103"
NAMES = ("linear",)
RAISES = "Inference tensors cannot be saved for backward"


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.gate, self.out = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def gated(self, features):
        return torch.sigmoid(self.gate(features))  # cause

    def forward(self, features):
        return self.out(features * self.gated(features))


def setup():
    global body, head, optimizer
    torch.manual_seed(0)
    body, head = nn.Linear(3, 4), torch.compile(Head(), backend=BACKEND)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)


def run():
    with torch.inference_mode():
        features = body(torch.randn(5, 3))
    head(features).sum().backward()
    optimizer.step()
