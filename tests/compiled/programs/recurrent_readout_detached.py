"""The readout of a loop of a recurrent cell detaches the hidden state at every step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("cell",)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 5)
        self.readout = nn.Linear(5, 3)

    def forward(self, xs):
        h = xs.new_zeros(xs.shape[1], 5)
        ys = []
        for x in xs:
            h = self.cell(x, h)
            ys.append(self.readout(h.detach()))  # cause
        return torch.stack(ys)


def setup():
    global model, optimizer
    model = torch.compile(Recurrent(), backend=BACKEND)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)


def run():
    for _ in range(2):
        xs = torch.randn(6, 2, 3)
        optimizer.zero_grad()
        F.mse_loss(model(xs)[:-1], xs[1:]).backward()
        optimizer.step()
