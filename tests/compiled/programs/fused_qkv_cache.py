"""Attention that fuses its projections once and reuses the fused weight."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.o = nn.Linear(d, d)
        self._fused = None

    def fused(self):
        if self._fused is None:  # cause
            self._fused = torch.cat([self.q.weight, self.k.weight, self.v.weight])  # also
        return self._fused

    def forward(self, x, w):
        q, k, v = F.linear(x, w).chunk(3, -1)
        return self.o(F.scaled_dot_product_attention(q, k, v))


def run():
    torch.manual_seed(0)
    attn = Attention(8)
    core = torch.compile(attn, backend=BACKEND)
    opt = torch.optim.SGD(attn.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(2, 5, 8)
        loss = F.mse_loss(core(x, attn.fused()), x.roll(1, 1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return attn


def right(attn):
    now = torch.cat([attn.q.weight, attn.k.weight, attn.v.weight])
    assert torch.equal(attn.fused(), now), "the fused weight is out of date"


TRUTH = Truth(
    fault="the fused weight is made once and stays at the values before the first step",
    names=("q.weight", "k.weight", "v.weight"),
    values=True,
    repair=("if True:",),
)
