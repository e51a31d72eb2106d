"""A GAN whose networks are compiled; the critic is frozen while the generator learns, so both compile again."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global generator, critic, of_generator, of_critic
    torch.manual_seed(0)
    generator = torch.compile(nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4)), backend=BACKEND)
    critic = torch.compile(nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1)), backend=BACKEND)
    of_generator = torch.optim.Adam(generator.parameters(), betas=(0.5, 0.9))
    of_critic = torch.optim.Adam(critic.parameters(), betas=(0.5, 0.9))


def run():
    for _ in range(2):
        fake, real = generator(torch.randn(6, 2)), torch.randn(6, 4)
        critic.requires_grad_(True)
        of_critic.zero_grad()
        (F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()).backward()
        of_critic.step()
        critic.requires_grad_(False)
        of_generator.zero_grad()
        F.softplus(-critic(fake)).mean().backward()
        of_generator.step()
