"""Wasserstein critic with gradient penalty and a fused activation."""

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from tests.practice.truth import Truth


class FusedSwish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    @once_differentiable  # cause
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * (s + x * s * (1 - s))


class Swish(nn.Module):
    def forward(self, x):
        return FusedSwish.apply(x)


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), Swish()]
    return nn.Sequential(*layers[:-1])


def gradient_penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    x = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return (g.norm(dim=1) - 1).pow(2).mean()


def critic_step(critic, generator, opt, real, lam=10.0):
    with torch.no_grad():
        fake = generator(torch.randn(len(real), 3))
    loss = critic(fake).mean() - critic(real).mean() + lam * gradient_penalty(critic, real, fake)
    opt.zero_grad()
    loss.backward()  # symptom
    opt.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    critic, generator = mlp(4, 16, 16, 1), mlp(3, 16, 4)
    opt = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
    return [critic_step(critic, generator, opt, torch.randn(12, 4) + 2) for _ in range(3)]


TRUTH = Truth(
    fault="the activation's backward cannot be differentiated, which the penalty needs",
    raises="trying to differentiate twice a function that was marked with @once_differentiable",
    names=("once_differentiable",),
    repair=("",),
)


def well(out):
    assert len(out) == 3
