"""A GAN with two compiled losses: the generator's loss, copied from the discriminator's, keeps the detach."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Losses:
    def __init__(self, generator, critic):
        self.generator, self.critic = generator, critic
        self.for_critic = torch.compile(self._for_critic, backend=BACKEND)
        self.for_generator = torch.compile(self._for_generator, backend=BACKEND)

    def _for_critic(self, real, noise):
        fake = self.generator(noise).detach()
        return F.softplus(-self.critic(real)).mean() + F.softplus(self.critic(fake)).mean()

    def _for_generator(self, noise):
        fake = self.generator(noise).detach()  # cause
        return F.softplus(-self.critic(fake)).mean()


def run():
    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    losses = Losses(generator, critic)
    g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
    d_opt = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
    before = [p.detach().clone() for p in generator.parameters()]
    for _ in range(4):
        angle = torch.rand(16) * 6.28
        real = torch.stack([angle.cos(), angle.sin()], -1)
        d_opt.zero_grad()
        losses.for_critic(real, torch.randn(16, 4)).backward()
        d_opt.step()

        g_opt.zero_grad()
        losses.for_generator(torch.randn(16, 4)).backward()  # symptom
        g_opt.step()  # symptom
    return [(b - p.detach()).abs().max().item() for b, p in zip(before, generator.parameters())]


def verify(outcome):
    assert all(moved == 0 for moved in outcome)


TRUTH = Truth(
    fault="the generator's own loss is cut from the generator: only the critic gets its gradient",
    names=("generator", "fake"),
    repair=("fake = self.generator(noise)",),
)
