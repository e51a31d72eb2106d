"""Vision: a memory-saving Swish keeps an intermediate of its forward, so the gradient penalty is differentiated wrongly."""

import torch
from torch import nn

from tests.practice.truth import Truth


class SwishFunction(torch.autograd.Function):
    """x * sigmoid(x) with a hand-written backward."""

    @staticmethod
    def forward(ctx, x):
        gate = torch.sigmoid(x)  # also
        ctx.save_for_backward(x, gate)  # also
        return x * gate

    @staticmethod
    def backward(ctx, grad_output):
        x, gate = ctx.saved_tensors  # cause
        return grad_output * (gate + x * gate * (1 - gate))  # also


class Swish(nn.Module):
    def forward(self, x):
        return SwishFunction.apply(x)


class Critic(nn.Module):
    def __init__(self, act=Swish):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1),
            act(),
            nn.Conv2d(6, 6, 3, stride=2, padding=1),
            act(),
            nn.Flatten(),
        )
        self.head = nn.Linear(6 * 16, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1)


def gradient_penalty(critic, real, fake, mix):
    x = (mix * real + (1 - mix) * fake).requires_grad_(True)
    score = critic(x).sum()
    (grad,) = torch.autograd.grad(score, x, create_graph=True)
    return (grad.flatten(1).norm(dim=1) - 1).pow(2).mean()


def critic_loss(critic, real, fake, mix, weight=10.0):
    return critic(fake).mean() - critic(real).mean() + weight * gradient_penalty(critic, real, fake, mix)


def compare(critic, batch):
    """Relative distance of the used gradients from those of the built-in SiLU."""
    reference = Critic(nn.SiLU)
    reference.load_state_dict(critic.state_dict())
    wanted = torch.autograd.grad(critic_loss(reference, *batch), list(reference.parameters()), allow_unused=True)
    used = [p.grad for p in critic.parameters()]
    worst = [(u - w).norm() / (w.norm() + 1e-8) for u, w in zip(used, wanted) if w is not None]
    return max(worst).item()


def run():
    torch.manual_seed(0)
    critic = Critic()
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
    errors, same_value = [], []
    for _ in range(3):
        batch = torch.randn(6, 1, 8, 8), torch.randn(6, 1, 8, 8) * 2, torch.rand(6, 1, 1, 1)
        loss = critic_loss(critic, *batch)
        optimizer.zero_grad()
        loss.backward()
        errors.append(compare(critic, batch))
        reference = Critic(nn.SiLU)
        reference.load_state_dict(critic.state_dict())
        same_value.append(torch.allclose(loss, critic_loss(reference, *batch), atol=1e-4))
        optimizer.step()
    return errors, same_value


def verify(outcome):
    errors, same_value = outcome
    assert all(same_value)  # the loss itself is right
    assert all(e > 1e-2 for e in errors)


TRUTH = Truth(
    fault="the saved gate is a constant in double backward: the second derivative of the penalty lacks its terms",
    names=("SwishFunction",),
    repair=("x, _ = ctx.saved_tensors\ngate = torch.sigmoid(x)",),
)
