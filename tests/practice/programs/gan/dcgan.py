"""GAN: the generator's loss reuses the score from before the discriminator's step."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Generator(nn.Module):
    def __init__(self, z=8):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(z, 8, 4, 1, 0, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(True),
            nn.ConvTranspose2d(8, 1, 4, 2, 1),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z[..., None, None])


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 4, 1, 0))

    def forward(self, x):
        return self.main(x).flatten()


def run():
    torch.manual_seed(0)
    netG, netD = Generator(), Discriminator()
    optG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    for _ in range(2):
        real = torch.rand(4, 1, 8, 8) * 2 - 1
        ones, zeros = torch.ones(4), torch.zeros(4)
        fake = netG(torch.randn(4, 8))
        score_fake = netD(fake)
        errD = bce(netD(real), ones) + bce(score_fake, zeros)
        optD.zero_grad()
        errD.backward(retain_graph=True)
        optD.step()  # also

        optG.zero_grad()
        errG = bce(score_fake, ones)  # cause
        errG.backward()  # symptom
        optG.step()


TRUTH = Truth(
    fault="the score was computed with weights that the discriminator's step has changed",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("netD",),
    repair=("errG = bce(netD(fake), ones)",),
)
