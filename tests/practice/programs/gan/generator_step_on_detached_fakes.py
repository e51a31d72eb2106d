"""The generator's loss is taken from the scores of detached images."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Trainer:
    def __init__(self):
        self.gen = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8), nn.Tanh())
        self.disc = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
        self.opt_g = torch.optim.Adam(self.gen.parameters(), 2e-4, betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(self.disc.parameters(), 2e-4, betas=(0.5, 0.999))

    def losses(self, real):
        fake = self.gen(torch.randn(len(real), 4))
        real_score = self.disc(real)
        fake_score = self.disc(fake.detach())  # cause
        d_loss = F.softplus(-real_score).mean() + F.softplus(fake_score).mean()
        return d_loss, fake_score

    def step(self, real):
        d_loss, fake_score = self.losses(real)
        self.opt_d.zero_grad()
        d_loss.backward(retain_graph=True)
        g_loss = F.softplus(-fake_score).mean()
        self.opt_g.zero_grad()
        g_loss.backward()
        self.opt_d.step()
        self.opt_g.step()
        return d_loss.item(), g_loss.item()


def run():
    torch.manual_seed(0)
    trainer = Trainer()
    before = trainer.gen[0].weight.detach().clone()
    log = [trainer.step(torch.randn(8, 8).clamp(-1, 1)) for _ in range(3)]
    return trainer, before, log


def verify(out):
    trainer, before, _ = out
    assert torch.equal(trainer.gen[0].weight, before)


TRUTH = Truth(
    fault="the generator gets no gradient: its images are detached before they are scored",
    names=("gen",),
    repair=("fake_score = self.disc(fake)",),
)
