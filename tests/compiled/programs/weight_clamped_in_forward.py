"""A forward clamps its own weight where autograd records: torch refuses that while Dynamo traces it."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG203"
NAMES = ("gain", "clamp_")
RAISES = "a leaf Variable that requires grad is being used in an in-place operation"


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix, self.gain = nn.Linear(4, 4), nn.Parameter(torch.rand(4))

    def forward(self, x):
        h = F.silu(self.mix(x))
        self.gain.clamp_(0.0, 1.0)  # cause
        return h * self.gain


def setup():
    global net, optimizer
    torch.manual_seed(0)
    net = nn.Sequential(Gated(), nn.Linear(4, 1))
    net.compile(backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    loss = net(torch.randn(3, 4)).sum()
    loss.backward()
    optimizer.step()
