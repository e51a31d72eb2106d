"""A GAN with augmentation in front of the critic: the augmentation is decorated with no_grad."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Augment(nn.Module):
    def __init__(self, strength=0.2):
        super().__init__()
        self.strength = strength

    def brightness(self, x):
        return x + self.strength * (torch.rand(len(x), 1, 1, 1) - 0.5)

    def translation(self, x):
        shift = int(torch.randint(-1, 2, ()))
        return torch.roll(x, shifts=shift, dims=-1)

    def cutout(self, x):
        mask = torch.ones_like(x)
        mask[..., 2:4, 2:4] = 0
        return x * mask

    @torch.no_grad()  # cause
    def forward(self, x):
        for change in (self.brightness, self.translation, self.cutout):
            x = change(x)
        return x


def generator():
    return nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Unflatten(1, (1, 8, 8)))


def critic():
    return nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128, 1))


class Trainer:
    def __init__(self):
        self.G, self.D, self.augment = generator(), critic(), Augment()
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=2e-4, betas=(0.5, 0.99))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=2e-4, betas=(0.5, 0.99))

    def critic_turn(self, real):
        with torch.no_grad():
            fake = self.G(torch.randn(len(real), 8))
        loss = F.softplus(-self.D(self.augment(real))).mean() + F.softplus(self.D(self.augment(fake))).mean()
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()

    def generator_turn(self, n):
        self.D.requires_grad_(True)
        loss = F.softplus(-self.D(self.augment(self.G(torch.randn(n, 8))))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()


def run(steps=3):
    torch.manual_seed(0)
    trainer = Trainer()
    before = trainer.G[0].weight.detach().clone()
    for _ in range(steps):
        trainer.critic_turn(torch.rand(6, 1, 8, 8))
        trainer.generator_turn(6)
    return before, trainer.G[0].weight


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="the augmentation runs without gradients, so the generator learns nothing",
    names=("no_grad",),
    repair=("",),
)
