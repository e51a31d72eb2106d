"""Ladder VAE: a hook scales a gradient in place, and the other branch of the sum gets the very same tensor."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Rung(nn.Module):
    def __init__(self, dim, z_dim):
        super().__init__()
        self.bottom_up = nn.Linear(dim, dim)
        self.top_down = nn.Linear(z_dim, dim)
        self.stats = nn.Linear(dim, 2 * z_dim)

    def forward(self, h, z_above):
        td = self.top_down(z_above)
        bu = self.bottom_up(h)
        if bu.requires_grad:
            bu.register_hook(lambda g: g.mul_(0.1))  # cause
        mu, logvar = self.stats(F.elu(bu + td)).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return z, 0.5 * (mu.pow(2) + logvar.exp() - 1 - logvar).sum(1).mean()


class LadderVAE(nn.Module):
    def __init__(self, x_dim=10, dim=12, z_dim=3, rungs=2):
        super().__init__()
        self.embed = nn.ModuleList([nn.Linear(x_dim if i == 0 else dim, dim) for i in range(rungs)])
        self.rungs = nn.ModuleList([Rung(dim, z_dim) for _ in range(rungs)])
        self.top = nn.Parameter(torch.zeros(1, z_dim))
        self.out = nn.Linear(z_dim, x_dim)

    def forward(self, x):
        hs = []
        for layer in self.embed:
            x = F.elu(layer(x))
            hs.append(x)
        z, kls = self.top.expand(len(x), -1), 0.0
        for h, rung in zip(reversed(hs), self.rungs):
            z, kl = rung(h, z)
            kls = kls + kl
        return self.out(z), kls


def run():
    torch.manual_seed(0)
    model = LadderVAE()
    opt = torch.optim.Adamax(model.parameters(), lr=2e-3)
    for step in range(3):
        x = torch.randn(8, 10)
        recon, kl = model(x)
        loss = (recon - x).pow(2).sum(1).mean() + kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.4f} kl {kl.item():.4f}")
    return model


def verify(model):
    rung = model.rungs[0]
    # the bias of both branches sees the same sum; only one of them was to be scaled down
    assert torch.allclose(rung.top_down.bias.grad, rung.bottom_up.bias.grad)


TRUTH = Truth(
    fault="an in-place hook on a gradient that another branch shares",
    names=("register_hook",),
    repair=("bu.register_hook(lambda g: g * 0.1)",),
)
