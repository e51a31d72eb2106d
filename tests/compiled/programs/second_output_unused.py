"""A compiled model returns two results, and the loss uses one: the other's head learns nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG301 AG303"
NAMES = ("value",)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.policy = nn.Linear(8, 2)
        self.value = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.policy(h), self.value(h)


def setup():
    global net, optimizer
    net = torch.compile(ActorCritic(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(2):
        logits, value = net(torch.randn(3, 4))
        optimizer.zero_grad()
        F.cross_entropy(logits, torch.tensor([0, 1, 0])).backward()
        optimizer.step()
