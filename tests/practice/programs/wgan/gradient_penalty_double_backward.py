"""Galaxy images: WGAN-GP with create_graph, fakes detached, the critic's loss sent backward in three parts. Healthy."""
import torch
from torch import nn

from tests.practice.truth import Truth


class GalaxyGenerator(nn.Module):
    def __init__(self, z=3, pixels=16):
        super().__init__()
        self.z = z
        self.net = nn.Sequential(nn.Linear(z, 24), nn.ReLU(), nn.Linear(24, pixels), nn.Softplus())

    def forward(self, n):
        return self.net(torch.randn(n, self.z))


class Critic(nn.Module):
    def __init__(self, pixels=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(pixels, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def gradient_penalty(critic, real, fake):
    mix = torch.rand(real.size(0), 1)
    x = (mix * real + (1 - mix) * fake).detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return (slope.norm(dim=1) - 1).square().mean()


def critic_step(gen, critic, optimizer, real, weight=5.0):
    fake = gen(real.size(0)).detach()
    optimizer.zero_grad()
    critic(real).mean().neg().backward()
    critic(fake).mean().backward()
    (weight * gradient_penalty(critic, real, fake)).backward()
    optimizer.step()
    with torch.no_grad():
        return (critic(real).mean() - critic(fake).mean()).item()


def generator_step(gen, critic, optimizer, n):
    optimizer.zero_grad()
    (-critic(gen(n)).mean()).backward()  # what it leaves in the critic is cleared before the critic's next step
    optimizer.step()


def galaxies(n):
    r = torch.linspace(0, 2, 16)
    return torch.exp(-r * (1 + 2 * torch.rand(n, 1)))


def run():
    torch.manual_seed(0)
    gen, critic = GalaxyGenerator(), Critic()
    opt_g = torch.optim.Adam(gen.parameters(), lr=2e-3, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=4e-3, betas=(0.0, 0.9))
    start = [p.detach().clone() for m in (gen, critic) for p in m.parameters()]
    distance = []
    for _ in range(3):
        for _ in range(2):
            distance.append(critic_step(gen, critic, opt_c, galaxies(24)))
        generator_step(gen, critic, opt_g, 24)
    return start, [p for m in (gen, critic) for p in m.parameters()], distance


def verify(outcome):
    start, now, distance = outcome
    assert sum(not torch.equal(a, b) for a, b in zip(start, now)) >= len(now) - 1
    assert distance[-1] > distance[0]


TRUTH = Truth()
