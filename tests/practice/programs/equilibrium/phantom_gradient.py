"""A deep equilibrium model: the solver runs without gradients, a damped step behind it carries the phantom gradient."""

import torch
from torch import nn

from tests.practice.truth import Truth


class DEQ(nn.Module):
    def __init__(self, dim=8, tau=0.5):
        super().__init__()
        self.inject, self.mix, self.tau = nn.Linear(4, dim), nn.Linear(dim, dim), tau
        self.mix.weight.data.mul_(0.3)

    def f(self, z, x):
        return torch.tanh(self.mix(z) + self.inject(x))

    def forward(self, x):
        z = torch.zeros(len(x), self.mix.in_features)
        with torch.no_grad():
            for _ in range(12):
                z = self.f(z, x)
        for _ in range(2):
            z = (1 - self.tau) * z + self.tau * self.f(z, x)
        return z


def run():
    torch.manual_seed(0)
    deq, head = DEQ(), nn.Linear(8, 3)
    opt = torch.optim.Adam([*deq.parameters(), *head.parameters()], 1e-3)
    for _ in range(3):
        loss = nn.functional.cross_entropy(head(deq(torch.randn(8, 4))), torch.randint(3, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return deq


TRUTH = Truth()
