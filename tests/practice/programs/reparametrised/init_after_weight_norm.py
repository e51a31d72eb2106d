"""A layer is initialised after weight norm, so that the values go into a weight that is computed anew."""

import torch
from torch import nn
from torch.nn.utils import parametrizations

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = parametrizations.weight_norm(nn.Conv1d(2, 4, 3))
        self.head = nn.Linear(4, 1)
        with torch.no_grad():
            self.conv.weight.normal_(0.0, 0.01)  # cause

    def forward(self, x):
        return self.head(torch.relu(self.conv(x)).mean(-1))


def run():
    torch.manual_seed(0)
    net = Net()
    first = net.conv.weight.std().item()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(2):
        loss = net(torch.randn(8, 2, 10)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return first


def verify(std):
    assert std > 0.05


TRUTH = Truth(
    fault="the initial values are written into a computed weight and lost",
    minor=True,
    names=("conv",),
    repair=("self.conv.parametrizations.weight.original0.fill_(0.01)",),
)
