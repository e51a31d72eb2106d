"""WGAN-GP: the generator learns at every third step; the penalty differentiates twice through the critic."""

import torch
from torch import autograd, nn

from tests.practice.truth import Truth


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16, bias=False), nn.BatchNorm1d(16), nn.LeakyReLU(0.2), nn.Linear(16, 2))

    def forward(self, z):
        return self.net(z)


def compute_gradient_penalty(D, real_samples, fake_samples):
    alpha = torch.rand(real_samples.size(0), 1)
    interpolates = (alpha * real_samples + ((1 - alpha) * fake_samples)).requires_grad_(True)
    d_interpolates = D(interpolates)
    gradients = autograd.grad(
        outputs=d_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones_like(d_interpolates),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


def run():
    torch.manual_seed(0)
    G = Generator()
    D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    opt_G = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.9))
    opt_D = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.9))
    start = G.net[0].weight.detach().clone()
    losses = []
    for i in range(6):
        real = torch.randn(8, 2) * 0.5 + 2
        opt_D.zero_grad()
        z = torch.randn(8, 4)
        fake = G(z)
        gp = compute_gradient_penalty(D, real.data, fake.data)
        d_loss = -D(real).mean() + D(fake.detach()).mean() + 10 * gp
        d_loss.backward()
        opt_D.step()
        opt_G.zero_grad()
        if i % 3 == 0:
            fake = G(z)
            g_loss = -D(fake).mean()
            g_loss.backward()
            opt_G.step()
        losses.append((d_loss.item(), g_loss.item(), gp.item()))
    return G, D, start, losses


TRUTH = Truth()


def verify(out):
    G, D, start, losses = out
    assert not torch.equal(start, G.net[0].weight)
    assert all(p.grad is not None for p in D.parameters())
    assert all(abs(x) < 1e3 for row in losses for x in row)
