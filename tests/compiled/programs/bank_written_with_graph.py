"""A compiled forward writes features into a bank with their graph: the second step goes back through the first."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG501"
RAISES = "second time"
NAMES = ("bank", "detach")


class Contrast(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(6, 4)
        self.register_buffer("bank", F.normalize(torch.randn(8, 4), dim=1))

    def forward(self, x, rows):
        z = F.normalize(self.encoder(x), dim=1)
        logits = z @ self.bank.clone().T / 0.1
        self.bank[rows] = z  # cause
        return logits


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = Contrast()
    model.compile(backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for step in range(3):
        rows = torch.tensor([step, step + 3])
        loss = F.cross_entropy(model(torch.randn(2, 6), rows), rows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
