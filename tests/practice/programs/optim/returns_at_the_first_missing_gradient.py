"""A hand-written optimizer leaves `step()` at the first parameter without a gradient: those after it never move."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Yogi(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-3):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    return loss  # cause
                state = self.state[p]
                if not state:
                    state["m"], state["v"] = torch.zeros_like(p), torch.full_like(p, 1e-6)
                m, v, square = state["m"], state["v"], p.grad.pow(2)
                m.mul_(beta1).add_(p.grad, alpha=1 - beta1)
                v.add_(torch.sign(square - v) * square, alpha=1 - beta2)
                p.addcdiv_(m, v.sqrt().add_(group["eps"]), value=-group["lr"])
        return loss


class MultiHead(nn.Module):
    def __init__(self, tasks=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(16, 1) for _ in range(tasks))

    def forward(self, x, task):
        return self.heads[task](self.trunk(x)).squeeze(-1)


def run(steps=6):
    torch.manual_seed(0)
    model = MultiHead()
    optimizer = Yogi(model.parameters())
    before = [head.weight.detach().clone() for head in model.heads]
    for step in range(steps):
        task = 2 if step % 2 else 1
        loss = F.mse_loss(model(torch.randn(8, 6), task), torch.randn(8))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [torch.equal(head.weight, start) for head, start in zip(model.heads, before)]


def verify(same):
    assert all(same)


TRUTH = Truth(
    fault="step() returns before it has moved the parameters that have a gradient",
    names=("heads",),
    repair=("continue",),
)
