"""Residual convolution blocks, every block compiled on its own."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class PreAct(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm = nn.GroupNorm(2, c)
        self.act = nn.ReLU(inplace=True)  # cause
        self.conv = nn.Conv1d(c, c, 3, padding=1)

    def forward(self, x):
        return x + self.conv(self.act(x) - self.norm(x))


def reference(block, x):
    return x + block.conv(torch.relu(x) - block.norm(x))


def run():
    torch.manual_seed(0)
    stem = nn.Conv1d(3, 4, 1)
    blocks = nn.ModuleList(PreAct(4) for _ in range(2))
    for b in blocks:
        b.compile(backend=BACKEND)
    head = nn.Linear(4, 1)
    params = [*stem.parameters(), *blocks.parameters(), *head.parameters()]
    opt = torch.optim.SGD(params, lr=0.05)
    for _ in range(3):
        x = torch.randn(4, 3, 10)
        h = stem(x)
        for b in blocks:
            h = b(h)
        loss = nn.functional.mse_loss(head(h.mean(-1)), x.mean((1, 2))[:, None])
        opt.zero_grad()
        loss.backward()
        opt.step()
    probe = torch.randn(2, 4, 10)
    want = reference(blocks[0], probe.clone())
    return want, blocks[0](probe.clone())


def right(out):
    assert torch.allclose(*out, atol=1e-5), "the skip path is not the input"


TRUTH = Truth(
    fault="the in-place activation rewrites the residual stream",
    values=True,
    repair=("self.act = nn.ReLU(inplace=False)",),
)
