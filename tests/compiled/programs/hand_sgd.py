"""Hand-written SGD with momentum as one compiled function."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


@torch.compile(backend=BACKEND)
@torch.no_grad()
def update(params, grads, bufs, lr, mu):
    for p, g, b in zip(params, grads, bufs):
        b.mul_(mu).add_(g)
        p = p - lr * b  # cause


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    params = list(net.parameters())
    bufs = [torch.zeros_like(p) for p in params]
    lr = torch.tensor(0.05)
    x = torch.randn(32, 4)
    y = x.prod(1, keepdim=True)
    losses = []
    for step in range(6):
        loss = nn.functional.mse_loss(net(x), y)
        grads = torch.autograd.grad(loss, params)
        update(params, grads, bufs, lr, 0.9)
        lr = lr * 0.98
        losses.append(loss.item())
    return losses


def right(losses):
    assert losses[-1] < losses[0], "the loss stands still"


TRUTH = Truth(
    fault="the update rebinds a local name, the parameters stay as they were",
    repair=("p.sub_(lr * b)",),
)
