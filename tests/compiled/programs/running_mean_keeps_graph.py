"""A running mean that is kept on the module carries the graph of each step."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG501 AG502"
NAMES = ("mean",)
RAISES = "backward through the graph a second time"


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.mean = nn.Linear(4, 4), torch.zeros(4)

    def forward(self, x):
        h = torch.tanh(self.fc(x))
        self.mean = 0.9 * self.mean + 0.1 * h.mean(0)  # cause
        return (h - self.mean).pow(2).sum()


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Model(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(5, 4)).backward()
        optimizer.step()
