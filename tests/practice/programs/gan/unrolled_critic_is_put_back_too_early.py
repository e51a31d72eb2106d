"""An unrolled GAN: the critic's weights are put back between the generator's forward and its backward."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, o))


def ring(n):
    angle = 2 * torch.pi * torch.randint(0, 8, (n,)) / 8
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


class Unrolled:
    def __init__(self, unroll=3):
        self.G, self.D, self.unroll = mlp(4, 2), mlp(2, 1), unroll
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=1e-3, betas=(0.5, 0.999))

    def critic_step(self):
        fake = self.G(torch.randn(16, 4)).detach()
        real_score, fake_score = self.D(ring(16)), self.D(fake)
        loss = F.binary_cross_entropy_with_logits(real_score, torch.ones_like(real_score))
        loss = loss + F.binary_cross_entropy_with_logits(fake_score, torch.zeros_like(fake_score))
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()

    def generator_step(self):
        backup = copy.deepcopy(self.D.state_dict())
        for _ in range(self.unroll):
            self.critic_step()
        score = self.D(self.G(torch.randn(16, 4)))
        loss = F.binary_cross_entropy_with_logits(score, torch.ones_like(score))
        self.D.load_state_dict(backup)  # cause
        self.opt_g.zero_grad()
        loss.backward()  # symptom
        self.opt_g.step()


def run(steps=2):
    torch.manual_seed(0)
    gan = Unrolled()
    for _ in range(steps):
        gan.critic_step()
        gan.generator_step()


TRUTH = Truth(
    fault="the critic's weights are overwritten before the generator's backward has used them",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("load_state_dict",),
    repair=("self.opt_g.zero_grad()\nloss.backward()\nself.opt_g.step()\nself.D.load_state_dict(backup)\nreturn",),
)
