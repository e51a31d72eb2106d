"""GAN: WGAN-GP with a fake that is used twice, toggled requires_grad, double backward and critic steps in a row; all right."""

import torch
from torch import nn

from tests.practice.truth import Truth

LATENT, SIZE = 6, 8


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(LATENT, 8 * 2)
        self.net = nn.Sequential(
            nn.ConvTranspose1d(8, 8, 4, stride=2, padding=1),
            nn.BatchNorm1d(8),
            nn.ReLU(inplace=True),
            nn.ConvTranspose1d(8, 1, 4, stride=2, padding=1),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.net(self.fc(z).view(-1, 8, 2))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, 8, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv1d(8, 8, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Flatten(),
            nn.Linear(16, 1, bias=False),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


def penalty(critic, real, fake):
    mix = torch.rand(len(real), 1, 1)
    between = torch.lerp(real, fake, mix).requires_grad_(True)
    (grad,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return (grad.flatten(1).norm(dim=1) - 1).square().mean()


class WGAN:
    def __init__(self, n_critic=2, weight=10.0):
        self.g, self.d = Generator(), Critic()
        self.n_critic, self.weight = n_critic, weight
        self.g_opt = torch.optim.Adam(self.g.parameters(), lr=1e-3, betas=(0.5, 0.9))
        self.d_opt = torch.optim.Adam(self.d.parameters(), lr=1e-3, betas=(0.5, 0.9))

    def round(self, reals):
        self.d.requires_grad_(True)
        for real in reals[: self.n_critic]:
            with torch.no_grad():
                fake = self.g(torch.randn(len(real), LATENT))
            self.d.zero_grad()
            gap = self.d(real).mean() - self.d(fake).mean()
            (-gap).backward()
            (self.weight * penalty(self.d, real, fake)).backward()  # adds to what is there
            self.d_opt.step()
        self.d.requires_grad_(False)
        leftover = [p.grad.clone() for p in self.d.parameters()]
        self.g.zero_grad()
        (-self.d(self.g(torch.randn(8, LATENT))).mean()).backward()
        self.g_opt.step()
        return all(torch.equal(a, p.grad) for a, p in zip(leftover, self.d.parameters()))


def waves(n=8):
    phase = torch.rand(n, 1, 1) * 6
    return torch.sin(torch.linspace(0, 6, SIZE) + phase)


def run():
    torch.manual_seed(0)
    gan = WGAN()
    start = {
        n: p.detach().clone() for net in (gan.g, gan.d) for n, p in net.named_parameters(prefix=type(net).__name__)
    }
    untouched = [gan.round([waves() for _ in range(2)]) for _ in range(3)]
    end = {n: p for net in (gan.g, gan.d) for n, p in net.named_parameters(prefix=type(net).__name__)}
    return untouched, start, end


def verify(outcome):
    untouched, start, end = outcome
    assert all(untouched)
    still = [n for n in start if torch.equal(start[n], end[n])]
    assert not still, still


TRUTH = Truth()
