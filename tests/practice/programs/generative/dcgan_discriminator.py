"""Generative: netD is cleared between its two halves, so that the discriminator never learns from real images."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth

nz, ngf, ndf, nc = 8, 8, 8, 1


def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.main(x).view(-1)


def real_half(netD, criterion, images):
    label = torch.ones(images.size(0))
    err = criterion(netD(images), label)
    err.backward()
    return err


def fake_half(netD, criterion, fake):
    netD.zero_grad()  # cause
    label = torch.zeros(fake.size(0))
    err = criterion(netD(fake.detach()), label)
    err.backward()
    return err


def run():
    torch.manual_seed(999)
    netG, netD = Generator(), Discriminator()
    netG.apply(weights_init)
    netD.apply(weights_init)
    criterion = nn.BCELoss()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
    dataset = torch.rand(24, nc, 16, 16) * 2 - 1
    survived = []
    for i in range(0, 24, 8):
        images = dataset[i : i + 8]
        optimizerD.zero_grad()
        errD_real = real_half(netD, criterion, images)
        fake = netG(torch.randn(images.size(0), nz, 1, 1))
        errD_fake = fake_half(netD, criterion, fake)
        total = netD.main[0].weight.grad.clone()
        from_real = torch.autograd.grad(criterion(netD(images), torch.ones(8)), netD.main[0].weight)[0]
        only_fake = torch.autograd.grad(criterion(netD(fake.detach()), torch.zeros(8)), netD.main[0].weight)[0]
        survived.append(torch.allclose(total, from_real + only_fake, atol=1e-7))
        errD = errD_real + errD_fake
        optimizerD.step()

        netG.zero_grad()
        errG = criterion(netD(fake), torch.ones(images.size(0)))
        errG.backward()
        optimizerG.step()
    return survived, errD.item(), errG.item()


def verify(outcome):
    survived, _, _ = outcome
    assert not any(survived)


TRUTH = Truth(
    fault="the gradients of the real half are cleared before the discriminator's step",
    names=("zero_grad",),
    repair=("pass",),
)
