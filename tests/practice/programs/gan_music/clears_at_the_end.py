"""Music GAN: two optimizers, detach in the critic's half, critic's left-over gradients cleared only at its own turn. Healthy."""
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class PianoRollGenerator(nn.Module):
    def __init__(self, noise=4, notes=12):
        super().__init__()
        self.noise = noise
        self.net = nn.Sequential(nn.Linear(noise, 16), nn.LeakyReLU(0.2), nn.Linear(16, notes), nn.Sigmoid())

    def forward(self, n):
        return self.net(torch.randn(n, self.noise))


class Critic(nn.Module):
    def __init__(self, notes=12):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(notes, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def critic_turn(gen, critic, opt, real):
    opt.zero_grad()  # throws away what the generator's turn left here
    with torch.no_grad():
        fake = gen(real.size(0))
    loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake)).mean()
    loss.backward()
    opt.step()
    return loss.detach()


def generator_turn(gen, critic, opt, n):
    loss = F.softplus(-critic(gen(n))).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    return loss.detach()


def run():
    torch.manual_seed(0)
    gen, critic = PianoRollGenerator(), Critic()
    opt_g = torch.optim.Adam(gen.parameters(), lr=2e-3, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.9))
    real = (torch.rand(32, 12) < 0.3).float()
    first = [p.detach().clone() for m in (gen, critic) for p in m.parameters()]
    losses = []
    for _ in range(4):
        d = critic_turn(gen, critic, opt_d, real)
        g = generator_turn(gen, critic, opt_g, 32)
        losses.append((d.item(), g.item()))
    last = [p for m in (gen, critic) for p in m.parameters()]
    return first, last, losses


def verify(outcome):
    first, last, losses = outcome
    assert all(not torch.equal(a, b) for a, b in zip(first, last))
    assert losses[-1][0] < losses[0][0]


TRUTH = Truth()
