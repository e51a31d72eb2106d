"""Truncated backpropagation: `h` is detached, `c` is not."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    cell, head = nn.LSTMCell(3, 5), nn.Linear(5, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], 0.1)
    h, c = torch.zeros(2, 5), torch.zeros(2, 5)
    for _ in range(3):
        h = h.detach()
        for _ in range(2):
            h, c = cell(torch.randn(2, 3), (h, c))  # cause
        loss = head(h).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()


TRUTH = Truth(
    fault="the cell state carries the graph of the step before",
    raises="Trying to backward through the graph a second time",
    names=("c",),
    repair=("h, c = cell(torch.randn(2, 3), (h, c.detach()))",),
)
