"""SimSiam in one compiled function: both branches have a way that is not stopped."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
        self.predictor = nn.Linear(4, 4)

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        pa, pb = self.predictor(za), self.predictor(zb)
        return -(F.cosine_similarity(pa, zb.detach()).mean() + F.cosine_similarity(pb, za.detach()).mean()) / 2


def setup():
    global net, optimizer
    net = torch.compile(SimSiam(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(3, 4), torch.randn(3, 4)).backward()
        optimizer.step()
