"""Hinge GAN: the discriminator's optimizer was given the generator's parameters."""

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from tests.practice.truth import Truth


class ResBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = spectral_norm(nn.Linear(dim, dim))

    def forward(self, x):
        return x + torch.relu(self.fc(x))


class ProjectionD(nn.Module):
    def __init__(self, n_classes=3, dim=12):
        super().__init__()
        self.block = ResBlock(dim)
        self.linear = spectral_norm(nn.Linear(dim, 1))
        self.embed = nn.Embedding(n_classes, dim)

    def forward(self, x, y):
        h = self.block(x)
        return self.linear(h).squeeze(1) + (self.embed(y) * h).sum(1)


class G(nn.Module):
    def __init__(self, n_classes=3, nz=6, dim=12):
        super().__init__()
        self.embed = nn.Embedding(n_classes, nz)
        self.net = nn.Sequential(nn.Linear(nz, 16), nn.ReLU(), nn.Linear(16, dim))

    def forward(self, z, y):
        return self.net(z + self.embed(y))


def run():
    torch.manual_seed(0)
    netG, netD = G(), ProjectionD()
    start = netD.embed.weight.detach().clone()
    optG = torch.optim.Adam(netG.parameters(), lr=5e-5, betas=(0.0, 0.999))
    optD = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.0, 0.999))  # cause
    schedulers = [torch.optim.lr_scheduler.ExponentialLR(o, 0.99) for o in (optG, optD)]
    for _ in range(3):
        real, y = torch.randn(8, 12), torch.randint(0, 3, (8,))
        optD.zero_grad()
        fake = netG(torch.randn(8, 6), y)
        lossD = torch.relu(1 - netD(real, y)).mean() + torch.relu(1 + netD(fake.detach(), y)).mean()
        lossD.backward()
        optD.step()

        optG.zero_grad()
        lossG = -netD(fake, y).mean()
        lossG.backward()
        optG.step()
        for s in schedulers:
            s.step()
    return netD, start


def verify(out):
    netD, start = out
    assert torch.equal(netD.embed.weight, start)


TRUTH = Truth(
    fault="no optimizer holds the discriminator's parameters",
    names=("netD",),
    repair=("optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.0, 0.999))",),
)
