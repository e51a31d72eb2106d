"""The images made without grad for the discriminator's step are used again for the generator's."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102 AG301"
NAMES = ("generator",)


def setup():
    global generator, critic, g_optimizer, c_optimizer, judge
    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
    generator.compile(backend=BACKEND)
    critic = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    judge = torch.compile(critic, backend=BACKEND)
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    c_optimizer = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))


def run():
    for _ in range(2):
        real = torch.randn(5, 6)
        with torch.no_grad():  # cause
            fake = generator(torch.randn(5, 4))
        loss = F.softplus(-judge(real)).mean() + F.softplus(judge(fake)).mean()
        c_optimizer.zero_grad()
        loss.backward()
        c_optimizer.step()
        g_loss = F.softplus(-judge(fake)).mean()
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()
