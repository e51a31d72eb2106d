"""Audio GAN: fakes are not detached in the critic's loss and the generator's gradients are cleared before it, so both add up."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class WaveGenerator(nn.Module):
    def __init__(self, z=4, length=16):
        super().__init__()
        self.z = z
        self.up = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, length), nn.Tanh())

    def forward(self, n):
        return self.up(torch.randn(n, self.z))


class WaveCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 5, stride=2)
        self.out = nn.Linear(8 * 6, 1)

    def forward(self, wave):
        return self.out(F.leaky_relu(self.conv(wave.unsqueeze(1))).flatten(1)).squeeze(-1)


def sines(n, length=16):
    t = torch.arange(length) / length
    return torch.sin(2 * torch.pi * ((1 + 3 * torch.rand(n, 1)) * t + torch.rand(n, 1)))


def run():
    torch.manual_seed(0)
    gen, critic = WaveGenerator(), WaveCritic()
    opt_g = torch.optim.SGD(gen.parameters(), lr=0.05)
    opt_d = torch.optim.SGD(critic.parameters(), lr=0.05)
    error = []
    for _ in range(4):
        real = sines(16)
        opt_g.zero_grad()
        opt_d.zero_grad()

        fake = gen(16)
        loss_d = F.relu(1 - critic(real)).mean() + F.relu(1 + critic(fake)).mean()  # cause
        loss_d.backward(retain_graph=True)  # the generator needs the graph of `fake` again
        opt_d.step()

        loss_g = -critic(fake).mean()
        wanted = torch.autograd.grad(loss_g, list(gen.parameters()), retain_graph=True)
        loss_g.backward()
        error.append(max((p.grad - w).abs().max().item() for p, w in zip(gen.parameters(), wanted)))
        opt_g.step()
    return error


def verify(outcome):
    assert min(outcome) > 1e-4


TRUTH = Truth(
    fault="the hinge loss of the critic pushes the generator the wrong way through the fakes",
    names=("fake", "detach"),
    repair=("loss_d = F.relu(1 - critic(real)).mean() + F.relu(1 + critic(fake.detach())).mean()",),
)
