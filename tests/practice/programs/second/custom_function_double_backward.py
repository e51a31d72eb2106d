"""Gradient-penalty training through a custom Function whose backward is itself a custom Function (twice differentiable)."""

import torch
from torch import nn
from tests.practice.truth import Truth


class SwishBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, grad, x):
        ctx.save_for_backward(grad, x)
        s = torch.sigmoid(x)
        return grad * s * (1 + x * (1 - s))

    @staticmethod
    def backward(ctx, gg):
        grad, x = ctx.saved_tensors
        s = torch.sigmoid(x)
        d1 = s * (1 + x * (1 - s))
        d2 = s * (1 - s) * (2 + x * (1 - 2 * s))
        return gg * d1, gg * grad * d2


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return SwishBackward.apply(grad, x)


class Critic(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 10), nn.Linear(10, 10), nn.Linear(10, 1)
        self.act = act

    def forward(self, x):
        return self.c(self.act(self.b(self.act(self.a(x)))))


def gradient_penalty(critic, real, fake):
    t = torch.rand(len(real), 1, dtype=real.dtype)
    mixed = torch.lerp(real, fake.detach(), t).requires_grad_()
    (g,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    return (g.norm(dim=1) - 1).square().mean()


def train(act):
    torch.manual_seed(0)
    critic = Critic(act).double()
    opt = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.0, 0.9))
    grads, weights = [], []
    for _ in range(3):
        real, fake = torch.randn(2, 8, 3, dtype=torch.double)
        loss = critic(fake).mean() - critic(real).mean() + 10 * gradient_penalty(critic, real, fake)
        opt.zero_grad()
        loss.backward()
        grads.append({n: p.grad.clone() for n, p in critic.named_parameters()})
        opt.step()
        weights.append([p.detach().clone() for p in critic.parameters()])
    return grads, weights


def run():
    return train(Swish.apply)


def verify(outcome):
    grads, weights = outcome
    wanted, plain = train(nn.functional.silu)
    for a, b in zip(grads, wanted):
        for n in a:
            assert torch.allclose(a[n], b[n], atol=1e-9), n
            assert a[n].any() or n == "c.bias"  # WGAN: the last bias cancels
    for a, b in zip(weights, plain):
        assert all(torch.allclose(x, y, atol=1e-6) for x, y in zip(a[:5], b[:5]))
    assert not torch.equal(weights[0][0], weights[1][0])


TRUTH = Truth()
