"""GAN: the critic takes several steps per round, and its gradients are cleared only once before them."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

LATENT, DATA = 4, 6


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LATENT, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, DATA))

    def forward(self, n):
        return self.net(torch.randn(n, LATENT))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        sn = nn.utils.parametrizations.spectral_norm
        self.net = nn.Sequential(sn(nn.Linear(DATA, 24)), nn.LeakyReLU(0.2), sn(nn.Linear(24, 1)))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def toggle(module, on):
    for p in module.parameters():
        p.requires_grad_(on)


class Round:
    def __init__(self, generator, critic, d_steps=3):
        self.g, self.d, self.d_steps = generator, critic, d_steps
        self.g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.99))
        self.d_opt = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.99))
        self.extra = []

    def hinge(self, real):
        fake = self.g(len(real)).detach()
        return F.relu(1 - self.d(real)).mean() + F.relu(1 + self.d(fake)).mean()

    def __call__(self, batches):
        toggle(self.d, True)
        toggle(self.g, False)
        self.g_opt.zero_grad()
        self.d_opt.zero_grad()  # also
        for real in batches[: self.d_steps]:
            loss = self.hinge(real)
            bias = self.d.net[0].bias
            (own,) = torch.autograd.grad(loss, bias, retain_graph=True)
            loss.backward()  # cause
            self.extra.append((bias.grad - own).abs().max().item())
            self.d_opt.step()
        toggle(self.d, False)
        toggle(self.g, True)
        g_loss = -self.d(self.g(16)).mean()
        g_loss.backward()
        self.g_opt.step()


def run():
    torch.manual_seed(0)
    game = Round(Generator(), Critic())
    for _ in range(2):
        game([torch.randn(16, DATA) * 0.5 + 1 for _ in range(3)])
    return game.extra


def verify(outcome):
    first = [outcome[0], outcome[3]]
    later = outcome[1:3] + outcome[4:]
    assert max(first) < 1e-6
    assert min(later) > 1e-3


TRUTH = Truth(
    fault="from the second critic step on the gradients of the steps before are still there",
    names=("zero_grad",),
    repair=("self.d_opt.zero_grad()\nloss.backward()",),
)
