"""A home-made activation is marked once_differentiable, and the WGAN gradient penalty differentiates it twice."""

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from tests.practice.truth import Truth


class ExpRampFn(torch.autograd.Function):
    """x for x > 0, else exp(x) - 1, computed from the saved output."""

    @staticmethod
    def forward(ctx, x):
        out = torch.where(x > 0, x, x.clamp(max=0).expm1())
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once_differentiable  # cause
    def backward(ctx, grad_output):
        (out,) = ctx.saved_tensors
        return grad_output * torch.where(out > 0, torch.ones_like(out), out + 1)


class ExpRamp(nn.Module):
    def forward(self, x):
        return ExpRampFn.apply(x)


def critic(dim=2, hidden=16):
    return nn.Sequential(
        nn.Linear(dim, hidden), ExpRamp(), nn.Linear(hidden, hidden), ExpRamp(), nn.Linear(hidden, 1, bias=False)
    )


def gradient_penalty(net, real, fake, weight=10.0):
    eps = torch.rand(len(real), 1)
    x = (eps * real + (1 - eps) * fake).requires_grad_(True)
    (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    return weight * ((g.norm(dim=1) - 1) ** 2).mean()


def run():
    torch.manual_seed(0)
    gen = nn.Sequential(nn.Linear(3, 16), ExpRamp(), nn.Linear(16, 2))
    disc = critic()
    opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.0, 0.9))
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.9))
    for it in range(2):
        for _ in range(2):
            real = torch.randn(16, 2) * 0.2 + 1
            with torch.no_grad():
                fake = gen(torch.randn(16, 3))
            loss_d = disc(fake).mean() - disc(real).mean() + gradient_penalty(disc, real, fake)
            opt_d.zero_grad()
            loss_d.backward()  # symptom
            opt_d.step()
        loss_g = -disc(gen(torch.randn(16, 3))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        print(f"it {it} D {loss_d.item():.3f} G {loss_g.item():.3f}")
    return disc


TRUTH = Truth(
    fault="a backward that cannot be differentiated is differentiated",
    raises="trying to differentiate twice a function that was marked with @once_differentiable",
    names=("ExpRampFn",),
    repair=("",),
)
