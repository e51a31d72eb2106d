"""model.compile(): the gate is computed from detached features, so the gate's own layers alone learn."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("stem",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.gate, self.head = nn.Linear(5, 8), nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, x):
        h = F.gelu(self.stem(x)).detach()  # cause
        return self.head(h * torch.sigmoid(self.gate(h)))


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = Model()
    model.compile(backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters())


def run():
    for _ in range(2):
        loss = model(torch.randn(6, 5)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
