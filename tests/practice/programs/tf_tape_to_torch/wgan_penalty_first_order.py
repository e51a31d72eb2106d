"""TensorFlow to PyTorch: the inner GradientTape of the gradient penalty became autograd.grad without create_graph; the penalty teaches nothing."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Critic(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 16), nn.Softplus(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x)


def gradient_penalty(critic, real, fake):
    """with tf.GradientTape() as tape: tape.watch(mixed); score = critic(mixed)"""
    epsilon = torch.rand(real.shape[0], 1)
    mixed = (epsilon * real + (1 - epsilon) * fake).requires_grad_(True)
    score = critic(mixed)
    (slopes,) = torch.autograd.grad(score.sum(), mixed)  # cause
    return ((slopes.norm(dim=1) - 1.0) ** 2).mean()


def critic_step(critic, optimizer, real, fake, weight=10.0):
    optimizer.zero_grad()
    wasserstein = critic(fake).mean() - critic(real).mean()
    penalty = gradient_penalty(critic, real, fake)
    (wasserstein + weight * penalty).backward()
    optimizer.step()
    return penalty


def run():
    torch.manual_seed(0)
    critic = Critic()
    generator = nn.Linear(4, 6)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
    penalties = []
    for _ in range(3):
        real = torch.randn(8, 6) + 2.0
        with torch.no_grad():
            fake = generator(torch.randn(8, 4))
        penalties.append(critic_step(critic, optimizer, real, fake))
    return penalties


def verify(penalties):
    assert not any(penalty.requires_grad for penalty in penalties)


TRUTH = Truth(
    fault="the gradient penalty is a constant for the critic: no create_graph in autograd.grad",
    names=("grad",),
    repair=("(slopes,) = torch.autograd.grad(score.sum(), mixed, create_graph=True)",),
)
