"""The compiled forward sets a hook that reverses and scales the gradient of the domain branch."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True
VALUES = True


class Adversarial(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
        self.label, self.domain = nn.Linear(12, 3), nn.Linear(12, 2)

    def forward(self, x):
        h = self.body(x)
        branch = h * 1.0
        if branch.requires_grad:
            branch.register_hook(lambda grad: -0.1 * grad)
        return self.label(h), self.domain(branch)


def setup():
    global model, forward, optimizer
    torch.manual_seed(0)
    model = Adversarial()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def run():
    for _ in range(3):
        labels, domains = forward(torch.randn(8, 6))
        loss = F.cross_entropy(labels, torch.randint(3, (8,))) + F.cross_entropy(domains, torch.randint(2, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
