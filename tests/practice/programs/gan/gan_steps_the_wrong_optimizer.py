"""A GAN whose discriminator turn ends with the generator's optimizer."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, x):
        return self.main(x).squeeze(-1)


def run():
    torch.manual_seed(0)
    netG, netD = Generator(), Discriminator()
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))  # also
    criterion = nn.BCEWithLogitsLoss()
    before = netD.main[0].weight.detach().clone()
    ones, zeros = torch.ones(8), torch.zeros(8)
    for _ in range(3):
        optimizerD.zero_grad()
        errD = criterion(netD(torch.randn(8, 2)), ones) + criterion(netD(netG(torch.randn(8, 4)).detach()), zeros)
        errD.backward()
        optimizerG.step()  # cause

        optimizerG.zero_grad()
        errG = criterion(netD(netG(torch.randn(8, 4))), ones)
        errG.backward()
        optimizerG.step()
    return torch.equal(before, netD.main[0].weight)


TRUTH = Truth(fault="the discriminator's optimizer never steps", names=("optimizerD",), repair=("optimizerD.step()",))


def verify(still):
    assert still
