"""LSGAN: the discriminator's gradients from the generator's step are not cleared, so they pollute its next update."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth

torch.set_num_threads(1)


class Generator(nn.Module):
    def __init__(self, nz=4, ngf=4):
        super().__init__()
        self.fc = nn.Linear(nz, ngf * 4)
        self.up = nn.Sequential(
            nn.ConvTranspose2d(ngf, ngf, 2, 2), nn.ReLU(), nn.Conv2d(ngf, 1, 3, padding=1), nn.Tanh()
        )
        self.ngf = ngf

    def forward(self, z):
        return self.up(self.fc(z).view(-1, self.ngf, 2, 2))


class Discriminator(nn.Module):
    def __init__(self, ndf=4):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, ndf, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(ndf * 4, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


class LSGAN:
    def __init__(self):
        self.G, self.D = Generator(), Discriminator()
        self.optG = torch.optim.Adam(self.G.parameters(), 2e-3, (0.5, 0.99))
        self.optD = torch.optim.Adam(self.D.parameters(), 2e-3, (0.5, 0.99))

    def step_D(self, real, z):
        fake = self.G(z).detach()
        loss = 0.5 * ((self.D(real) - 1) ** 2).mean() + 0.5 * (self.D(fake) ** 2).mean()
        want = torch.autograd.grad(loss, list(self.D.parameters()), retain_graph=True)
        loss.backward()  # also
        error = max((p.grad - g).abs().max().item() for p, g in zip(self.D.parameters(), want))
        self.optD.step()
        self.D.zero_grad()
        return error

    def step_G(self, z):
        self.G.zero_grad()
        loss = 0.5 * ((self.D(self.G(z)) - 1) ** 2).mean()
        loss.backward()  # cause
        self.optG.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    gan = LSGAN()
    errors = []
    for i in range(4):
        real = torch.rand(8, 1, 4, 4).round() * 2 - 1
        errors.append(gan.step_D(real, torch.randn(8, 4)))
        gan.step_G(torch.randn(8, 4))
    return errors


def verify(errors):
    assert errors[0] < 1e-6
    assert all(e > 1e-4 for e in errors[1:]), errors


TRUTH = Truth(
    fault="the generator's loss also fills the discriminator's gradients, and step_D adds its own to them as it clears only after its step",
    names=("D",),
    repair=("loss.backward()\nself.D.zero_grad()",),
)
