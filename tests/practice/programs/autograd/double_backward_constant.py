"""WGAN-GP critic with a hand-written activation: its saved intermediate is a constant for the second derivative."""

import torch
from torch import nn
from torch.autograd import Function

from tests.practice.truth import Truth


class FusedSiLU(Function):
    """x * sigmoid(x), the sigmoid kept for backward."""

    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x)
        ctx.s = s
        return x * s

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = ctx.s  # cause
        return grad * s * (1 + x * (1 - s))  # also


class Critic(nn.Module):
    def __init__(self, dim=3, width=12, fused=True):
        super().__init__()
        self.l1 = nn.Linear(dim, width)
        self.l2 = nn.Linear(width, width)
        self.l3 = nn.Linear(width, 1)
        self.act = FusedSiLU.apply if fused else nn.functional.silu

    def forward(self, x):
        return self.l3(self.act(self.l2(self.act(self.l1(x))))).squeeze(-1)


def gradient_penalty(critic, real, fake):
    t = torch.rand(len(real), 1)
    mixed = (t * real + (1 - t) * fake).requires_grad_()
    (grad,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    return (grad.norm(dim=1) - 1).pow(2).mean()


def penalty_gradient(critic, real, fake, seed):
    torch.manual_seed(seed)
    penalty = gradient_penalty(critic, real, fake)
    return penalty, torch.autograd.grad(penalty, critic.l1.weight)[0]


def run():
    torch.manual_seed(0)
    critic = Critic()
    twin = Critic(fused=False)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.0, 0.9))
    errors = []
    for step in range(3):
        real, fake = torch.randn(16, 3) + 1, torch.randn(16, 3)
        twin.load_state_dict(critic.state_dict())
        ours, grad = penalty_gradient(critic, real, fake, step)
        theirs, true = penalty_gradient(twin, real, fake, step)
        errors.append(((ours - theirs).abs().item(), ((grad - true).norm() / true.norm()).item()))
        optimizer.zero_grad()
        loss = critic(fake).mean() - critic(real).mean() + 10 * gradient_penalty(critic, real, fake)
        loss.backward()
        optimizer.step()
    return errors


def verify(outcome):
    for value, gradient in outcome:
        assert value < 1e-5 and gradient > 1e-2


TRUTH = Truth(
    fault="the sigmoid kept on ctx has no graph: the penalty's value is right and its gradient is not",
    names=("FusedSiLU",),
    repair=("s = torch.sigmoid(x)",),
)
