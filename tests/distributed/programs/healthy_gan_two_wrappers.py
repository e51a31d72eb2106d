"""GAN with two DDP wrappers; the generator's pass through the critic is not reduced."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global gen, critic, g_opt, c_opt
    torch.manual_seed(0)
    gen = DDP(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4)))
    critic = DDP(nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1)), broadcast_buffers=False)
    g_opt = torch.optim.Adam(gen.parameters(), lr=1e-2)
    c_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
    torch.manual_seed(70 + dist.get_rank())


def critic_step(real):
    with torch.no_grad():
        fake = gen.module(torch.randn(len(real), 3))
    scores = critic(torch.cat([real, fake]))
    loss = F.softplus(-scores[: len(real)]).mean() + F.softplus(scores[len(real) :]).mean()
    c_opt.zero_grad()
    loss.backward()
    c_opt.step()


def generator_step(n):
    critic.requires_grad_(False)
    fake = gen(torch.randn(n, 3))
    loss = F.softplus(-critic.module(fake)).mean()
    g_opt.zero_grad()
    loss.backward()
    g_opt.step()
    critic.requires_grad_(True)


def run():
    for _ in range(3):
        critic_step(torch.randn(8, 4) + 2)
        generator_step(8)


TRUTH = Truth()
