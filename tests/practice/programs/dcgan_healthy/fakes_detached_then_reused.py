"""DCGAN example, and right: one batch of fakes, detached for D and whole for G; G's stray gradients in D are cleared."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


def weights_init(m):
    name = m.__class__.__name__
    if name.startswith("Conv"):
        m.weight.data.normal_(0.0, 0.1)
    elif name.startswith("BatchNorm"):
        m.weight.data.normal_(1.0, 0.02)
        m.bias.data.zero_()


class Generator(nn.Module):
    def __init__(self, nz=6, ngf=8):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self, ndf=8):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, 1, 4, 1, 0, bias=False),
        )

    def forward(self, x):
        return self.main(x).view(-1)


def run():
    torch.manual_seed(0)
    net_g, net_d = Generator().apply(weights_init), Discriminator().apply(weights_init)
    criterion = nn.BCEWithLogitsLoss()
    opt_d = torch.optim.Adam(net_d.parameters(), lr=2e-3, betas=(0.5, 0.999))
    opt_g = torch.optim.Adam(net_g.parameters(), lr=2e-3, betas=(0.5, 0.999))
    start = {
        n: p.detach().clone()
        for m in (net_g, net_d)
        for n, p in ((f"{type(m).__name__}.{k}", v) for k, v in m.named_parameters())
    }
    for _ in range(3):
        real = torch.randn(4, 1, 8, 8).tanh()
        net_d.zero_grad()
        err_real = criterion(net_d(real), torch.ones(4))
        err_real.backward()
        fake = net_g(torch.randn(4, 6, 1, 1))
        err_fake = criterion(net_d(fake.detach()), torch.zeros(4))
        err_fake.backward()
        opt_d.step()

        net_g.zero_grad()
        err_g = criterion(net_d(fake), torch.ones(4))
        err_g.backward()
        opt_g.step()
    now = {f"{type(m).__name__}.{k}": v for m in (net_g, net_d) for k, v in m.named_parameters()}
    return {n: (now[n].detach() - start[n]).abs().max().item() for n in start}


def verify(outcome):
    assert all(v > 0 for v in outcome.values())


TRUTH = Truth()
