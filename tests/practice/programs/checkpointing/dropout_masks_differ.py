"""Activation checkpointing with preserve_rng_state=False: the recomputed dropout has another mask than the forward had."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class MLPBlock(nn.Module):
    def __init__(self, dim, p):
        super().__init__()
        self.up = nn.Linear(dim, 2 * dim)
        self.drop = nn.Dropout(p)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(self.drop(torch.tanh(self.up(x))))


class FluidSurrogate(nn.Module):
    """Steps a coarse vorticity field forward in time."""

    def __init__(self, cells=12, depth=2, p=0.3, save_memory=True):
        super().__init__()
        self.blocks = nn.ModuleList(MLPBlock(cells, p) for _ in range(depth))
        self.save_memory = save_memory

    def forward(self, field):
        for block in self.blocks:
            if self.save_memory:
                field = checkpoint(block, field, use_reentrant=False, preserve_rng_state=False)  # cause
            else:
                field = block(field)
        return field


def grads(model, x, y):
    model.zero_grad()
    torch.manual_seed(7)
    loss = (model(x) - y).square().mean()
    loss.backward()
    return loss.item(), [p.grad.clone() for p in model.parameters()]


def run():
    torch.manual_seed(0)
    model = FluidSurrogate()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.randn(16, 12)
    y = x.roll(1, 1) - 0.1 * x
    for _ in range(3):
        loss = (model(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with_checkpoint = grads(model, x, y)
    model.save_memory = False
    return with_checkpoint, grads(model, x, y)


def verify(outcome):
    (loss_a, grads_a), (loss_b, grads_b) = outcome
    assert abs(loss_a - loss_b) < 1e-6
    assert any(not torch.allclose(a, b, atol=1e-6) for a, b in zip(grads_a, grads_b))


TRUTH = Truth(
    fault="the gradients are those of another dropout mask than that of the loss",
    names=("checkpoint", "preserve_rng_state"),
    repair=("field = checkpoint(block, field, use_reentrant=False)",),
)
