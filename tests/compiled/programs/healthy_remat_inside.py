"""Compiled model with checkpointed blocks and dropout inside."""

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, d, p):
        super().__init__()
        self.fc, self.drop = nn.Linear(d, d), nn.Dropout(p)

    def forward(self, x):
        return x + self.drop(torch.nn.functional.gelu(self.fc(x)))


class Stack(nn.Module):
    def __init__(self, d=6, depth=2, p=0.1):
        super().__init__()
        self.blocks = nn.ModuleList(Block(d, p) for _ in range(depth))
        self.out = nn.Linear(d, 1)
        self.remat = True

    def forward(self, x):
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False) if self.remat else b(x)
        return self.out(x)


def grads(net, x):
    net.zero_grad()
    net(x).square().mean().backward()
    return [p.grad.clone() for p in net.parameters()]


def run():
    torch.manual_seed(0)
    model = Stack()
    net = torch.compile(model, backend=BACKEND)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(3):
        x = torch.randn(8, 6)
        loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    x = torch.randn(8, 6)
    a = grads(net, x)
    model.remat = False
    return a, grads(model, x)


def right(out):
    assert all(torch.allclose(p, q, atol=1e-5) for p, q in zip(*out))


TRUTH = Truth()
