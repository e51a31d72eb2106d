"""The whole step is compiled, and the gradients are cleared between backward and step: Dynamo does it unseen."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG305"
NAMES = ("body.weight",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 5), nn.Linear(5, 2)

    def forward(self, x):
        return self.head(torch.tanh(self.body(x)))


def setup():
    global model, train_step
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(backend=BACKEND)
    def train_step(x):
        loss = model(x).pow(2).mean()
        loss.backward()
        model.zero_grad()  # cause
        optimizer.step()
        return loss


def run():
    for _ in range(3):
        train_step(torch.randn(6, 4))
