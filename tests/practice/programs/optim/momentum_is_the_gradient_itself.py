"""A hand-written momentum: its buffer starts as the gradient, not as a copy of it, and gradients are zeroed in place."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Heavy(torch.optim.Optimizer):
    def __init__(self, params, lr=0.05, momentum=0.9, decay=0.0):
        super().__init__(params, dict(lr=lr, momentum=momentum, decay=decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad
                if group["decay"]:
                    grad = grad.add(p, alpha=group["decay"])
                state = self.state[p]
                if "velocity" not in state:
                    velocity = state["velocity"] = grad  # cause
                else:
                    velocity = state["velocity"]
                    velocity.mul_(group["momentum"]).add_(grad)
                p.add_(velocity, alpha=-group["lr"])


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv1d(8, 8, 3, padding=1), nn.ReLU())
        self.out = nn.Linear(8 * 10, 1)

    def forward(self, x):
        return self.out(self.conv(x.unsqueeze(1)).flatten(1)).squeeze(-1)


def windows(n=3):
    for _ in range(n):
        t = torch.arange(11.0) + 10 * torch.rand(8, 1)
        series = torch.sin(t) + 0.1 * torch.randn(8, 11)
        yield series[:, :10], series[:, 10]


def run():
    torch.manual_seed(0)
    model = Forecaster()
    optimizer = Heavy(model.parameters())
    for x, y in windows():
        optimizer.zero_grad(set_to_none=False)
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    return [optimizer.state[p]["velocity"].data_ptr() == p.grad.data_ptr() for p in model.parameters()]


def verify(aliases):
    assert all(aliases)


TRUTH = Truth(
    fault="the momentum shares the gradient's memory: zero_grad clears it and the step doubles the gradient",
    names=("velocity",),
    repair=('velocity = state["velocity"] = grad.clone()',),
)
