"""The gradient penalty differentiates a compiled critic twice, which AOTAutograd does not do."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = BACKEND == "eager"
RULES = "AG504"
RAISES = "" if BACKEND == "eager" else "does not currently support double backward"
NAMES = ("Critic", "force_eager")


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Softplus(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x)


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(len(real), 1)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_()
    (grads,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    return (grads.norm(dim=1) - 1).pow(2).mean()


def setup():
    global critic, optimizer
    torch.manual_seed(0)
    critic = torch.compile(Critic(), backend=BACKEND)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4)


def run():
    real, fake = torch.randn(8, 4), torch.randn(8, 4)
    loss = critic(fake).mean() - critic(real).mean() + 10 * gradient_penalty(critic, real, fake)
    optimizer.zero_grad()
    loss.backward()  # cause
    optimizer.step()
