"""A compiled pooling adds the messages of edges to nodes by an index with repeats, which keeps one of each."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG206"
NAMES = ("pooled", "index_add")


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.message, self.update = nn.Linear(4, 4), nn.Linear(8, 4)

    def forward(self, x, source, target):
        pooled = torch.zeros_like(x)
        pooled[target] += self.message(x[source])  # cause
        return torch.relu(self.update(torch.cat([x, pooled], 1)))


def setup():
    global layer, head, optimizer
    torch.manual_seed(0)
    layer, head = Layer(), nn.Linear(4, 2)
    layer.compile(backend=BACKEND)
    optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()])


def run():
    source, target = torch.tensor([0, 1, 2, 3, 4, 0]), torch.tensor([1, 1, 3, 3, 0, 3])
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(head(layer(torch.randn(5, 4), source, target)), torch.tensor([0, 1, 1, 0, 1])).backward()
        optimizer.step()
