"""A mass on a spring is identified through a simulation; contacts are chosen by `where`, windows are cut off."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Spring(nn.Module):
    def __init__(self, stiffness=2.0, damping=0.3):
        super().__init__()
        self.log_stiffness = nn.Parameter(torch.tensor(stiffness).log())
        self.log_damping = nn.Parameter(torch.tensor(damping).log())
        self.correction = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        nn.init.zeros_(self.correction[-1].weight)
        nn.init.zeros_(self.correction[-1].bias)

    def step(self, x, v, dt=0.05):
        force = -self.log_stiffness.exp() * x - self.log_damping.exp() * v
        force = force + self.correction(torch.stack([x, v], -1)).squeeze(-1)
        v = v + dt * force
        x = x + dt * v
        below = x < -0.8
        return torch.where(below, torch.full_like(x, -0.8), x), torch.where(below, -0.5 * v, v)

    def rollout(self, x, v, steps):
        path = []
        for _ in range(steps):
            x, v = self.step(x, v)
            path.append(x)
        return torch.stack(path), x, v


def run():
    torch.manual_seed(0)
    truth, model = Spring(5.0, 0.1), Spring()
    truth.requires_grad_(False)
    opt = torch.optim.Adam(model.parameters(), lr=2e-2)
    x0, v0 = torch.rand(6) * 0.6, torch.zeros(6)
    observed, _, _ = truth.rollout(x0, v0, 24)
    for _ in range(2):
        x, v = x0, v0
        for window in observed.split(8):
            path, x, v = model.rollout(x, v, len(window))
            loss = F.mse_loss(path, window)
            opt.zero_grad()
            loss.backward()
            opt.step()
            x, v = x.detach(), v.detach()
        print(f"{loss.item():.4f} stiffness {model.log_stiffness.exp().item():.2f}")


TRUTH = Truth()
