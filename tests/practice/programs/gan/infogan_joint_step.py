"""InfoGAN: a third optimizer holds the generator and the code head together, and steps after a pass of its own."""

import itertools

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2))
        self.adv = nn.Linear(16, 1)
        self.aux = nn.Linear(16, 3)
        self.latent = nn.Linear(16, 2)

    def forward(self, x):
        h = self.body(x)
        return self.adv(h), self.aux(h), self.latent(h)


def run():
    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4 + 3 + 2, 16), nn.ReLU(), nn.Linear(16, 6))
    discriminator = Discriminator()
    optimizer_G = torch.optim.Adam(generator.parameters(), lr=2e-3)
    optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=2e-3)
    optimizer_info = torch.optim.Adam(itertools.chain(generator.parameters(), discriminator.parameters()), lr=2e-3)
    aux0 = discriminator.aux.weight.detach().clone()
    for _ in range(3):
        real, n = torch.randn(8, 6), 8
        valid, fake = torch.ones(n, 1), torch.zeros(n, 1)

        def codes():
            label = torch.randint(3, (n,))
            code = torch.empty(n, 2).uniform_(-1, 1)
            return label, code, torch.cat([torch.randn(n, 4), F.one_hot(label, 3).float(), code], 1)

        optimizer_G.zero_grad()
        _, _, z = codes()
        gen = generator(z)
        validity, _, _ = discriminator(gen)
        g_loss = F.mse_loss(validity, valid)
        g_loss.backward()
        optimizer_G.step()

        optimizer_D.zero_grad()
        real_pred, _, _ = discriminator(real)
        fake_pred, _, _ = discriminator(gen.detach())
        d_loss = (F.mse_loss(real_pred, valid) + F.mse_loss(fake_pred, fake)) / 2
        d_loss.backward()
        optimizer_D.step()

        optimizer_info.zero_grad()
        label, code, z = codes()
        _, pred_label, pred_code = discriminator(generator(z))
        info_loss = F.cross_entropy(pred_label, label) + 0.1 * F.mse_loss(pred_code, code)
        info_loss.backward()
        optimizer_info.step()
    return discriminator, aux0, (g_loss.item(), d_loss.item(), info_loss.item())


TRUTH = Truth()


def verify(out):
    discriminator, aux0, losses = out
    assert not torch.equal(aux0, discriminator.aux.weight)
    assert discriminator.adv.weight.grad is None and discriminator.latent.weight.grad is not None
    assert all(0 < loss < 100 for loss in losses)
