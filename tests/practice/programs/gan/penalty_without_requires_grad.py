"""WGAN-GP: the interpolates do not require grad."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    mixed = eps * real + (1 - eps) * fake  # cause
    score = critic(mixed)
    grad = torch.autograd.grad(  # symptom
        score, mixed, grad_outputs=torch.ones_like(score), create_graph=True, retain_graph=True
    )[0]
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


def run():
    torch.manual_seed(0)
    critic = Critic()
    generator = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    opt_c = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9))
    opt_g = torch.optim.Adam(generator.parameters(), lr=1e-4, betas=(0.0, 0.9))
    for _ in range(2):
        real = torch.randn(8, 2)
        with torch.no_grad():
            fake = generator(torch.randn(8, 3))
        loss = critic(fake).mean() - critic(real).mean() + 10 * gradient_penalty(critic, real, fake)
        opt_c.zero_grad()
        loss.backward()
        opt_c.step()
        g_loss = -critic(generator(torch.randn(8, 3))).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()


TRUTH = Truth(
    fault="no gradient is asked for the interpolates",
    raises="One of the differentiated Tensors does not require grad",
    repair=("mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)",),
)
