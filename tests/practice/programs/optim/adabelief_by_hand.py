"""A hand-written AdaBelief that skips parameters without gradients, and gradients that are centred before it."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class AdaBelief(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-12, weight_decay=1e-2):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

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
                if len(state) == 0:
                    state["step"] = 0
                    state["mean"], state["belief"] = torch.zeros_like(p), torch.zeros_like(p)
                    state["slow"] = p.detach().clone()
                state["step"] += 1
                beta1, beta2 = group["betas"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                state["mean"].lerp_(p.grad, 1 - beta1)
                surprise = p.grad - state["mean"]
                state["belief"].mul_(beta2).addcmul_(surprise, surprise, value=1 - beta2).add_(group["eps"])
                bias = (1 - beta2 ** state["step"]) ** 0.5 / (1 - beta1 ** state["step"])
                p.addcdiv_(state["mean"], state["belief"].sqrt().add_(group["eps"]), value=-group["lr"] * bias)
                if state["step"] % 3 == 0:
                    state["slow"].lerp_(p, 0.5)
                    p.copy_(state["slow"])
        return loss


def centre(model):
    for p in model.parameters():
        if p.grad is not None and p.dim() > 1:
            p.grad.sub_(p.grad.mean(dim=tuple(range(1, p.dim())), keepdim=True))


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.heads = nn.ModuleDict({"digit": nn.Linear(24, 4), "parity": nn.Linear(24, 2)})

    def forward(self, x, task):
        return self.heads[task](self.conv(x))


def run(steps=6):
    torch.manual_seed(0)
    model = TwoHeads()
    optimizer = AdaBelief(model.parameters())
    start = [p.detach().clone() for p in model.parameters()]
    for step in range(steps):
        task, classes = (("digit", 4), ("parity", 2))[step % 2]
        loss = F.cross_entropy(model(torch.randn(8, 1, 8, 8), task), torch.randint(0, classes, (8,)))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        centre(model)
        optimizer.step()
    return start, list(model.parameters())


TRUTH = Truth()


def verify(out):
    assert all(not torch.equal(a, b) for a, b in zip(*out))
