"""Critic of a small GAN, trained with DDP."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Critic(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 16), nn.Softplus(), nn.Linear(16, 1))

    def forward(self, x):
        return self.f(x).squeeze(-1)


def setup():
    global critic, opt
    torch.manual_seed(11)
    critic = DDP(Critic())
    opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
    torch.manual_seed(200 + dist.get_rank())


def train_step(real, fake):
    params = list(critic.parameters())
    both = torch.cat([real, fake])
    score = critic(both)
    loss = score[len(real) :].mean() - score[: len(real)].mean()
    loss = loss + 0.01 * score.square().mean()
    opt.zero_grad()
    grads = torch.autograd.grad(loss, params)  # cause
    for p, g in zip(params, grads):
        p.grad = g
    opt.step()
    return loss.detach()


def run():
    for _ in range(3):
        real = torch.randn(12, 6) + 1
        fake = torch.randn(12, 6)
        train_step(real, fake)


TRUTH = Truth(
    rule="AG601",
    fault="torch.autograd.grad goes round DDP's hooks: gradients stay local",
    names=("f.0.weight", "f.0.bias", "f.2.weight", "f.2.bias"),
    where="own",
)
