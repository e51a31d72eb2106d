"""Checkpointed blocks by a lambda that looks the block up: recomputed, each is the last one."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1, self.fc2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.fc2(torch.nn.functional.gelu(self.fc1(self.norm(x))))


class Encoder(nn.Module):
    def __init__(self, dim=8, depth=3):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, 2)
        self.input_scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        x = x * self.input_scale
        for block in self.blocks:
            x = checkpoint(lambda h: block(h), x, use_reentrant=False)  # cause
        return self.head(x.mean(1))


def run():
    torch.manual_seed(0)
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(2):
        x, y = torch.randn(4, 5, 8), torch.randint(2, (4,))
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x = torch.randn(4, 5, 8)
    model.zero_grad()
    model(x).sum().backward()
    h = x * model.input_scale
    for block in model.blocks:
        h = block(h)
    (right,) = torch.autograd.grad(model.head(h.mean(1)).sum(), model.blocks[0].fc1.weight)
    return model.blocks[0].fc1.weight.grad, right


TRUTH = Truth(
    fault="the lambda finds the last block when it is recomputed",
    repair=("x = checkpoint(block, x, use_reentrant=False)",),
)


def verify(grads):
    assert not torch.allclose(*grads, rtol=1e-3)
