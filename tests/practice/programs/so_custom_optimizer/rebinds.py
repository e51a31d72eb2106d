"""A hand-written sign-SGD with warm-up: step() rebinds the name p, so no parameter is changed."""

import torch
import torch.nn as nn
from torch.optim.optimizer import Optimizer

from tests.practice.truth import Truth


class SignSGD(Optimizer):
    def __init__(self, params, lr=1e-3, momentum=0.9, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["exp_avg"] = torch.zeros_like(p)
                    state["step"] = 0
                state["step"] += 1
                state["exp_avg"].mul_(group["momentum"]).add_(p.grad, alpha=1 - group["momentum"])
                if group["weight_decay"]:
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                p = p - group["lr"] * state["exp_avg"].sign()  # cause
        return loss


class Poly(nn.Module):
    def __init__(self, degree=3):
        super().__init__()
        self.coef = nn.Parameter(torch.randn(degree + 1))

    def forward(self, x):
        powers = torch.stack([x**i for i in range(self.coef.numel())], -1)
        return powers @ self.coef


def run():
    torch.manual_seed(1)
    x = torch.linspace(-1, 1, 25)
    y = torch.sin(3 * x)
    model = Poly()
    optimizer = SignSGD(model.parameters(), lr=0.01)
    start = model.coef.detach().clone()

    def closure():
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(4)]
    return start, model.coef.detach().clone(), losses, optimizer.state[model.coef]["step"]


def verify(outcome):
    start, end, losses, steps = outcome
    assert steps == 4
    assert torch.equal(start, end) and len(set(losses)) == 1


TRUTH = Truth(
    fault="p = p - ... makes a new tensor and rebinds the local name, so the parameter itself is never changed",
    names=("coef",),
    repair=('p.add_(state["exp_avg"].sign(), alpha=-group["lr"])',),
)
