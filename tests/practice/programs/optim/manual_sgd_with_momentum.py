"""A loop without an optimizer: velocities in a list, updates under no_grad, and gradients cleared by zero_()."""

import torch
from torch.nn import functional as F

from tests.practice.truth import Truth


def init(sizes):
    params = []
    for i, o in zip(sizes[:-1], sizes[1:]):
        W = torch.randn(o, i) * (2 / i) ** 0.5
        b = torch.zeros(o)
        params += [W.requires_grad_(), b.requires_grad_()]
    return params


def forward(params, x):
    for k in range(0, len(params), 2):
        x = F.linear(x, params[k], params[k + 1])
        if k + 2 < len(params):
            x = x.clamp(min=0)
    return x


def clip(params, limit):
    total = sum(p.grad.pow(2).sum().item() for p in params) ** 0.5
    if total > limit:
        for p in params:
            p.grad *= limit / total
    return total


def run():
    torch.manual_seed(0)
    params = init([5, 16, 16, 2])
    velocity = [torch.zeros_like(p) for p in params]
    lr, mu, wd, curve = 0.1, 0.9, 1e-3, []
    for step in range(5):
        x = torch.randn(32, 5)
        y = torch.stack([x[:, 0] * x[:, 1], x[:, 2]], 1)
        loss = F.mse_loss(forward(params, x), y)
        loss.backward()
        total = clip(params, 1.0)
        with torch.no_grad():
            for p, v in zip(params, velocity):
                v.mul_(mu).add_(p.grad).add_(p, alpha=wd)
                p -= lr * v
                p.grad.zero_()
        if step == 3:
            lr *= 0.1
        curve.append((float(loss), total))
    return params, velocity, curve


TRUTH = Truth()


def verify(out):
    params, velocity, curve = out
    assert all(p.is_leaf and p.requires_grad and p.grad.abs().sum() == 0 for p in params)
    assert not any(v.requires_grad for v in velocity) and all(v.abs().sum() > 0 for v in velocity)
    assert all(a < 100 for row in curve for a in row)
