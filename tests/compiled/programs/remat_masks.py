"""Checkpointed segment with dropout; its inside is a compiled function."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

OPTIONS = dict(use_reentrant=False, preserve_rng_state=False)  # cause


@torch.compile(backend=BACKEND)
def mlp(x, w1, w2):
    return F.relu(x @ w1) @ w2


class Segment(nn.Module):
    def __init__(self, d=6, h=12):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(d, h) / d)
        self.w2 = nn.Parameter(torch.randn(h, d) / h)

    def inner(self, x):
        return mlp(F.dropout(x, 0.5), self.w1, self.w2)

    def forward(self, x):
        return checkpoint(self.inner, x, **OPTIONS)  # also


def grads(seg, x, remat):
    torch.manual_seed(9)
    seg.zero_grad()
    y = seg(x) if remat else seg.inner(x)
    y.square().sum().backward()
    return [p.grad.clone() for p in seg.parameters()]


def run():
    torch.manual_seed(0)
    seg = Segment()
    opt = torch.optim.SGD(seg.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 6)
        loss = F.mse_loss(seg(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    x = torch.randn(8, 6)
    return grads(seg, x, True), grads(seg, x, False)


def right(out):
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*out)), "gradient of another mask"


TRUTH = Truth(
    fault="the recomputation draws another dropout mask than the forward",
    names=("w1", "w2"),
    values=True,
    repair=("OPTIONS = dict(use_reentrant=False, preserve_rng_state=True)",),
)
