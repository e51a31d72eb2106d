"""Scaled dot-product attention with a learned bias and a causal mask, compiled for all lengths and trained."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.rel_bias = nn.Parameter(torch.zeros(2, 31))

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (2, 8)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        at = torch.arange(x.shape[1])
        offsets = at[:, None] - at[None]
        bias = self.rel_bias[:, offsets + 15].masked_fill(offsets < 0, -float("inf"))
        return x + self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(-2))


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Attention(), backend=BACKEND, dynamic=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)


def run():
    for length in (16, 9, 12):
        x = torch.randn(2, length, 16)
        loss = (model(x)[:, :-1] - x[:, 1:]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
