"""Deduplicated: the relative position table was recomputed in three places; now an lru_cache keeps it, together with its first graph."""

from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class RelativeBias(nn.Module):
    def __init__(self, heads=2, span=8, hidden=6):
        super().__init__()
        self.span = span
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, heads))

    @lru_cache(maxsize=8)  # cause
    def table(self, length):
        position = torch.arange(length, dtype=torch.float32)
        distance = (position[None] - position[:, None]).clamp(-self.span, self.span) / self.span
        return self.net(distance[..., None]).permute(2, 0, 1)


class Layer(nn.Module):
    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, bias):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return x + self.out(mixed.transpose(1, 2).flatten(2))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = RelativeBias()
        self.layers = nn.ModuleList(Layer() for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, self.bias.table(x.shape[1])[None])
        return x


def run():
    torch.manual_seed(0)
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        x = torch.randn(4, 5, 8)
        loss = F.mse_loss(model(x), x.roll(1, dims=1))
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
    return model.bias.net[0].weight.grad


TRUTH = Truth(
    fault="the cached bias table belongs to the first step's graph, which is freed by its backward",
    raises="Trying to backward through the graph a second time",
    names=("table",),
    repair=("# one table per call",),
)
