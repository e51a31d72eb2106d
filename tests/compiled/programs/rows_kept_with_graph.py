"""A store keeps the rows of compiled results with their graphs: each row is a view of what another graph returned."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG501"
NAMES = ("store",)
RAISES = "Trying to backward through the graph a second time"


class Sampled(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 6), nn.Linear(6, 3)
        self.store = [torch.zeros(6) for _ in range(count)]

    def forward(self, x, batch):
        h = F.relu(self.inner(x[batch]))
        rest = torch.ones(len(x), dtype=torch.bool)
        rest[batch] = False
        known = torch.stack([self.store[at] for at in rest.nonzero().squeeze(1).tolist()])
        for at, row in zip(batch.tolist(), h):
            self.store[at] = row  # cause
        return self.outer(h + known.mean(0))


def setup():
    global net, optimizer
    torch.manual_seed(0)
    net = Sampled(12)
    net.forward = torch.compile(net.forward, backend=BACKEND)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)


def run():
    x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
    for batch in torch.randperm(12).split(4):
        optimizer.zero_grad()
        F.cross_entropy(net(x, batch), y[batch]).backward()
        optimizer.step()
