"""The compiled forward sets a hook on a feature map "to warm up", and the hook returns zeros."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG306 AG303"
NAMES = ("stem",)
VALUES = True


def quiet(grad):
    return grad * 0.0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, 8, 3), nn.Linear(8, 4)

    def forward(self, x):
        h = F.relu(self.stem(x))
        h.register_hook(quiet)  # cause
        return self.head(h.mean((2, 3)))


def setup():
    global model, optimizer, compiled
    torch.manual_seed(0)
    model = Net()
    compiled = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def run():
    for _ in range(2):
        loss = F.cross_entropy(compiled(torch.randn(4, 3, 8, 8)), torch.randint(4, (4,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
