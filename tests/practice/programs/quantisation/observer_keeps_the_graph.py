"""A range observer averages the largest activation with its graph; the next backward goes into the last step's."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Observer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("high", torch.tensor(1.0))

    def forward(self, x):
        self.high = 0.9 * self.high + 0.1 * x.abs().max()  # cause
        scale = self.high / 127
        return x + ((x / scale).round() * scale - x.detach()) * 1.0


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), Observer(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        loss = net(torch.randn(8, 4)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()


TRUTH = Truth(
    fault="the observer carries the graph of the last step",
    raises="Trying to backward through the graph a second time",
    names=("high",),
    repair=("self.high = 0.9 * self.high + 0.1 * x.detach().abs().max()",),
)
