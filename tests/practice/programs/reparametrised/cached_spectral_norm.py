"""Spectral norm under `parametrize.cached()`: the cache spans several steps, and its graph is freed by the first."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import spectral_norm

from tests.practice.truth import Truth


class Discriminator(nn.Module):
    def __init__(self, dim=2, hidden=12):
        super().__init__()
        self.l1 = spectral_norm(nn.Linear(dim, hidden))
        self.l2 = spectral_norm(nn.Linear(hidden, hidden))
        self.out = nn.Linear(hidden, 1, bias=False)

    def forward(self, x):
        return self.out(F.leaky_relu(self.l2(F.leaky_relu(self.l1(x), 0.2)), 0.2))


class Generator(nn.Module):
    def __init__(self, latent=3, dim=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent, 12), nn.ReLU(), nn.Linear(12, dim))

    def forward(self, z):
        return self.net(z)


def hinge_d(real, fake):
    return F.relu(1 - real).mean() + F.relu(1 + fake).mean()


def discriminator_steps(disc, gen, opt, data, n):
    with parametrize.cached():  # cause
        for _ in range(n):
            real = data[torch.randint(0, len(data), (16,))]
            fake = gen(torch.randn(16, 3)).detach()
            loss = hinge_d(disc(real), disc(fake))  # D is run twice: cache the normalised weights
            opt.zero_grad()
            loss.backward()  # symptom
            opt.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    disc, gen = Discriminator(), Generator()
    opt_d = torch.optim.Adam(disc.parameters(), lr=4e-4, betas=(0.0, 0.9))
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-4, betas=(0.0, 0.9))
    data = torch.randn(64, 2) + torch.tensor([2.0, -1.0])
    for it in range(2):
        loss_d = discriminator_steps(disc, gen, opt_d, data, n=2)
        loss_g = -disc(gen(torch.randn(16, 3))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        print(f"it {it} D {loss_d:.3f} G {loss_g.item():.3f}")
    return disc


TRUTH = Truth(
    fault="the cached weight's graph is used in several steps",
    raises="Trying to backward through the graph a second time",
    names=("cached",),
    repair=("for _ in range(1):",),
)
