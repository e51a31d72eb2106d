"""torch.jit.script: the scripted forward detaches what its encoder made."""

import torch
import torch.nn.functional as F
from torch import nn

RULES = "AG101 AG301 AG106"
NAMES = ("encoder",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Linear(4, 6), nn.Linear(6, 2)

    def forward(self, x):
        h = torch.relu(self.encoder(x))
        return self.head(h.detach())


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.jit.script(Model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(3, 4)), torch.tensor([0, 1, 1])).backward()
        optimizer.step()
