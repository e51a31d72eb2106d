"""A memory-saving Function whose backward is itself differentiable, because a penalty on gradients needs it twice."""

import torch
from torch import nn

from tests.practice.truth import Truth


class SwishFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * (s * (1 + x * (1 - s)))


class MemoryEfficientSwish(nn.Module):
    def forward(self, x):
        return SwishFn.apply(x)


def run():
    torch.manual_seed(0)
    critic = nn.Sequential(
        nn.Linear(3, 16), MemoryEfficientSwish(), nn.Linear(16, 16), MemoryEfficientSwish(), nn.Linear(16, 1)
    )
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
    norms = []
    for _ in range(3):
        real, fake = torch.randn(8, 3) + 1, torch.randn(8, 3)
        eps = torch.rand(8, 1)
        mix = (eps * real + (1 - eps) * fake).requires_grad_()
        (g,) = torch.autograd.grad(critic(mix).sum(), mix, create_graph=True)
        slope = g.norm(2, dim=1)
        loss = critic(fake).mean() - critic(real).mean() + 10 * (slope - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        norms.append(slope.mean().item())
    x = torch.randn(4, dtype=torch.double, requires_grad=True)
    return critic, norms, torch.autograd.gradgradcheck(SwishFn.apply, (x,))


TRUTH = Truth()


def verify(out):
    critic, norms, exact = out
    assert exact and all(n > 0 for n in norms)
    assert all(p.grad is not None for p in critic.parameters()) and critic[0].bias.grad.abs().sum() > 0
