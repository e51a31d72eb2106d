"""GAN that draws the fakes once and lets both players use the graph; D's stray gradients are cleared in time: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Generator(nn.Module):
    def __init__(self, latent=8, out=2):
        super().__init__()
        self.latent = latent
        self.net = nn.Sequential(
            nn.Linear(latent, 32, bias=False), nn.BatchNorm1d(32), nn.LeakyReLU(0.2, inplace=True), nn.Linear(32, out)
        )

    def forward(self, n):
        return self.net(torch.randn(n, self.latent))


class Discriminator(nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.net = nn.Sequential(
            nn.utils.parametrizations.spectral_norm(nn.Linear(width, 32)),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def ring(n):
    angle = torch.rand(n) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], dim=1)


def bce(logits, label):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, label))


def run():
    torch.manual_seed(0)
    gen, disc = Generator(), Discriminator()
    opt_g = torch.optim.Adam(gen.parameters(), lr=2e-4, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(disc.parameters(), lr=2e-4, betas=(0.0, 0.9))
    before = [p.detach().clone() for m in (gen, disc) for p in m.parameters()]
    agree = []
    for _ in range(4):
        real, fake = ring(16), gen(16)

        # generator first: its loss also leaves gradients in D, which nobody wants
        opt_g.zero_grad(set_to_none=True)
        g_loss = bce(disc(fake), 1.0)
        g_loss.backward(retain_graph=True)
        opt_g.step()

        opt_d.zero_grad(set_to_none=True)
        d_loss = bce(disc(real), 1.0) + bce(disc(fake.detach()), 0.0)
        d_loss.backward()
        weight = disc.net[2].weight
        (alone,) = torch.autograd.grad(bce(disc(real), 1.0) + bce(disc(fake.detach()), 0.0), weight)
        agree.append(torch.allclose(alone, weight.grad, atol=1e-2))
        opt_d.step()
        del fake
    return before, [p.detach() for m in (gen, disc) for p in m.parameters()], agree


def verify(outcome):
    before, after, agree = outcome
    assert all(agree)
    moved = [not torch.equal(b, a) for b, a in zip(before, after)]
    assert all(moved)


TRUTH = Truth()
