"""The compiled generator loss detaches the fakes as the critic's loss does."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("generator",)


def setup():
    global generator, critic, to_generate, to_judge, critic_loss, generator_loss
    generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
    critic = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    to_generate = torch.optim.Adam(generator.parameters())
    to_judge = torch.optim.Adam(critic.parameters())

    @torch.compile(backend=BACKEND)
    def critic_loss(real, noise):
        fake = generator(noise).detach()
        return F.softplus(-critic(real)).mean() + F.softplus(critic(fake)).mean()

    @torch.compile(backend=BACKEND)
    def generator_loss(noise):
        fake = generator(noise).detach()  # cause
        return F.softplus(-critic(fake)).mean()


def run():
    for _ in range(3):
        to_judge.zero_grad()
        critic_loss(torch.randn(4, 3), torch.randn(4, 2)).backward()
        to_judge.step()
        to_generate.zero_grad()
        generator_loss(torch.randn(4, 2)).backward()
        to_generate.step()
