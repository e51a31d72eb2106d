"""StyleGAN2 discriminator: the gradients are cleared between the R1 penalty's backward and the step."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.out = nn.Linear(8 * 16, 1)

    def forward(self, x):
        return self.out(F.silu(self.conv(x)).flatten(1))


def r1(disc, real):
    real = real.detach().requires_grad_(True)
    (grad,) = torch.autograd.grad(disc(real).sum(), real, create_graph=True)
    return grad.pow(2).flatten(1).sum(1).mean()


def run():
    torch.manual_seed(0)
    gen = nn.Sequential(nn.Linear(8, 48), nn.Unflatten(1, (3, 4, 4)))
    disc = Discriminator()
    g_opt = torch.optim.Adam(gen.parameters(), lr=2e-3, betas=(0.0, 0.99))
    d_opt = torch.optim.Adam(disc.parameters(), lr=2e-3, betas=(0.0, 0.99))
    gamma, every = 10.0, 2
    before = real = fake = None
    for it in range(3):
        real = torch.randn(4, 3, 4, 4)
        fake = gen(torch.randn(4, 8)).detach()
        before = copy.deepcopy(disc)
        d_loss = F.softplus(disc(fake)).mean() + F.softplus(-disc(real)).mean()
        if it % every == 0:
            penalty = r1(disc, real)
            (gamma / 2 * every * penalty).backward()  # cause
        d_opt.zero_grad()  # also
        d_loss.backward()
        d_opt.step()

        disc.requires_grad_(False)
        g_loss = F.softplus(-disc(gen(torch.randn(4, 8)))).mean()
        g_opt.zero_grad()
        g_loss.backward()
        disc.requires_grad_(True)
        g_opt.step()
    return disc, before, real, fake


def verify(out):
    disc, before, real, fake = out
    loss = F.softplus(before(fake)).mean() + F.softplus(-before(real)).mean()
    want = torch.autograd.grad(loss, before.conv.weight)[0]
    assert torch.allclose(disc.conv.weight.grad, want)  # the last step was an R1 step


TRUTH = Truth(
    fault="zero_grad throws the penalty's gradients away",
    names=("zero_grad",),
    repair=("d_loss = d_loss + gamma / 2 * every * penalty",),
)
