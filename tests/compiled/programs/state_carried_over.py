"""The state of a compiled cell is carried from batch to batch with its graph."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG501"
NAMES = ("state",)
RAISES = "backward through the graph a second time"


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.Linear(9, 5), nn.Linear(5, 1)

    def forward(self, x, state):
        state = torch.tanh(self.inner(torch.cat([x, state], 1)))
        return self.out(state), state


def setup():
    global cell, optimizer
    torch.manual_seed(0)
    cell = torch.compile(Cell(), backend=BACKEND)
    optimizer = torch.optim.Adam(cell.parameters())


def run():
    state = torch.zeros(2, 5)
    for _ in range(3):
        y, state = cell(torch.randn(2, 4), state)  # cause
        optimizer.zero_grad()
        y.pow(2).mean().backward()
        optimizer.step()
