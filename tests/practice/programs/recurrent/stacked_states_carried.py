"""The states of all layers are stacked and carried to the next window with their graph."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    cells, head = nn.ModuleList([nn.GRUCell(4, 4), nn.GRUCell(4, 4)]), nn.Linear(4, 1)
    opt = torch.optim.Adam([*cells.parameters(), *head.parameters()], 1e-3)
    state = torch.zeros(2, 3, 4)
    for _ in range(3):
        x, new = torch.randn(3, 4), []
        for cell, old in zip(cells, state):
            x = cell(x, old)
            new.append(x)
        loss = head(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        state = torch.stack(new)  # cause


TRUTH = Truth(
    fault="the stacked state carries the graph of the window before",
    raises="Trying to backward through the graph a second time",
    names=("state",),
    repair=("state = torch.stack(new).detach()",),
)
