"""An unrolled GAN: the critic's weights are put back after the generator's step."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 24), nn.ReLU(), nn.Linear(24, o))


class Unrolled:
    def __init__(self, unroll=2):
        self.G, self.D, self.unroll = mlp(4, 2), mlp(2, 1), unroll
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=1e-3, betas=(0.5, 0.999))

    def critic_step(self):
        with torch.no_grad():
            fake = self.G(torch.randn(16, 4))
        loss = F.softplus(-self.D(torch.randn(16, 2))).mean() + F.softplus(self.D(fake)).mean()
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()

    def generator_step(self):
        weights, state = copy.deepcopy(self.D.state_dict()), copy.deepcopy(self.opt_d.state_dict())
        for _ in range(self.unroll):
            self.critic_step()
        loss = F.softplus(-self.D(self.G(torch.randn(16, 4)))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        self.D.load_state_dict(weights)
        self.opt_d.load_state_dict(state)


def run(steps=3):
    torch.manual_seed(0)
    gan = Unrolled()
    start = gan.G[0].weight.detach().clone()
    for _ in range(steps):
        gan.critic_step()
        gan.generator_step()
    return gan.G[0].weight, start


TRUTH = Truth()


def verify(out):
    assert not torch.equal(*out)
