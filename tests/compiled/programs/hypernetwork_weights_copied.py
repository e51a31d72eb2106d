"""A hypernetwork makes the weights of a compiled layer, which are copied into its parameter without grad."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102 AG101 AG301"
NAMES = ("hyper",)


class Conditioned(nn.Module):
    def __init__(self):
        super().__init__()
        self.hyper, self.target, self.out = nn.Linear(3, 24), nn.Linear(4, 6), nn.Linear(6, 1)

    def forward(self, x, task):
        weight = self.hyper(task).view(6, 4)
        with torch.no_grad():
            self.target.weight.copy_(weight)  # cause
        return self.out(torch.relu(self.target(x)))


def setup():
    global model, optimizer, forward
    torch.manual_seed(0)
    model = Conditioned()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def run():
    for _ in range(2):
        loss = forward(torch.randn(5, 4), torch.randn(3)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
