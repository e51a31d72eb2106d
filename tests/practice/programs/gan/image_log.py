"""GAN: the images for the log are brought to [0, 1] in place, and detach() shares memory with the tanh's output."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Generator(nn.Module):
    def __init__(self, nz=8, ngf=4):
        super().__init__()
        self.project = nn.Linear(nz, ngf * 16)
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(ngf, 3, 3, padding=1), nn.Tanh())

    def forward(self, z):
        return self.up(torch.relu(self.project(z)).view(len(z), -1, 4, 4))


class Logger:
    def __init__(self):
        self.grids, self.scalars = [], {}

    def images(self, batch, n=4):
        imgs = batch[:n].detach()  # also
        imgs.mul_(0.5).add_(0.5)  # cause
        self.grids.append(torch.cat(list(imgs), -1).mul(255).byte())

    def scalar(self, name, value):
        self.scalars.setdefault(name, []).append(float(value))


def run():
    torch.manual_seed(0)
    G = Generator()
    D = nn.Sequential(nn.Conv2d(3, 4, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(64, 1))
    opt_g = torch.optim.Adam(G.parameters(), 2e-4, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), 2e-4, betas=(0.5, 0.999))
    log, bce = Logger(), nn.functional.binary_cross_entropy_with_logits
    for step in range(3):
        real = torch.rand(4, 3, 8, 8) * 2 - 1
        fake = G(torch.randn(4, 8))
        real_score, fake_score = D(real), D(fake.detach())
        d_loss = bce(real_score, torch.full((4, 1), 0.9)) + bce(fake_score, torch.zeros(4, 1))
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
        if step % 2 == 0:
            log.images(fake)
        g_loss = bce(D(fake), torch.ones(4, 1))
        opt_g.zero_grad()
        g_loss.backward()  # symptom
        opt_g.step()
        log.scalar("d", d_loss.item())
        log.scalar("g", g_loss.item())


TRUTH = Truth(
    fault="the log rescales the generator's output itself",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    repair=("imgs = imgs.mul(0.5).add(0.5)",),
)
