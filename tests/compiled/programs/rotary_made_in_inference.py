"""A compiled attention block makes its rotary tables in the first call, which is a warm-up in inference mode."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Rotary(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.tables = None

    def build(self, length):
        rate = 100.0 ** (-torch.arange(0, self.dim, 2) / self.dim)
        angle = torch.arange(length)[:, None] * rate
        self.tables = angle.cos(), angle.sin()

    def forward(self, x):
        cos, sin = self.tables
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)  # symptom


class Attention(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.qkv, self.rotary = nn.Linear(width, 3 * width), Rotary(width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return F.scaled_dot_product_attention(self.rotary(q), self.rotary(k), v, is_causal=True)


def run():
    torch.manual_seed(0)
    model = Attention()
    forward = torch.compile(model, backend=BACKEND)
    with torch.inference_mode():  # cause
        model.rotary.build(6)
        forward(torch.randn(2, 6, 8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(2):
        x = torch.randn(2, 6, 8)
        loss = F.mse_loss(forward(x), x.roll(1, 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


TRUTH = Truth(
    fault="the cached tables are inference tensors, which cannot be saved for a backward pass",
    raises="Inference tensors cannot be saved for backward",
    names=("inference",),
    repair=("with torch.no_grad():",),
)
