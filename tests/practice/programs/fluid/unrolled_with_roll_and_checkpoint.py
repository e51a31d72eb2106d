"""Differentiable fluid solver: in-place writes into a clone, checkpointed time steps, a detached pressure guess. Healthy."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class BurgersSolver(nn.Module):
    """Viscous Burgers on a ring, with a learnt closure term."""

    def __init__(self, dx=0.1, dt=0.01):
        super().__init__()
        self.dx, self.dt = dx, dt
        self.log_viscosity = nn.Parameter(torch.tensor(-3.0))
        self.closure = nn.Sequential(nn.Conv1d(1, 4, 3, padding=1, padding_mode="circular"), nn.Tanh(), nn.Conv1d(4, 1, 1))

    def step(self, u):
        left, right = u.roll(1, -1), u.roll(-1, -1)
        advection = u * (right - left) / (2 * self.dx)
        diffusion = self.log_viscosity.exp() * (right - 2 * u + left) / self.dx ** 2
        new = u.clone()
        new += self.dt * (diffusion - advection)
        new[..., 1:-1] += self.dt * self.closure(u.unsqueeze(1)).squeeze(1)[..., 1:-1]
        return new

    def forward(self, u, steps):
        frames = torch.empty(steps, *u.shape)
        for i in range(steps):
            u = checkpoint(self.step, u, use_reentrant=False)
            frames[i] = u
        return frames

    @torch.no_grad()
    def warm_start(self, u, steps):
        """Let the flow settle; nothing is learnt from it."""
        for _ in range(steps):
            u = self.step(u)
        return u


def observed(n, cells, steps):
    x = torch.arange(cells) / cells * 2 * torch.pi
    u0 = torch.sin(x + 6 * torch.rand(n, 1))
    reference = BurgersSolver()
    with torch.no_grad():
        reference.log_viscosity.fill_(-2.0)
        reference.closure[2].weight.zero_()
        reference.closure[2].bias.zero_()
        return u0, reference(u0, steps)


def run():
    torch.manual_seed(0)
    u0, frames = observed(4, 20, 6)
    model = BurgersSolver()
    model.warm_start(u0, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = [p.detach().clone() for p in model.parameters()]
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = (model(u0, 6) - frames).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return before, list(model.parameters()), losses


def verify(outcome):
    before, after, losses = outcome
    assert all(not torch.equal(a, b) for a, b in zip(before, after))
    assert losses[-1] < losses[0]


TRUTH = Truth()
