"""Flex attention with a learned bias and a causal mask, compiled and trained."""

import torch
from torch import nn
from torch.nn.attention.flex_attention import flex_attention

from tests.compiled.backend import BACKEND

HEALTHY = True


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.rel_bias = nn.Parameter(torch.zeros(2, 31))

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (2, 8)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))

        def score_mod(score, b, h, i, j):
            return torch.where(i >= j, score + self.rel_bias[h, i - j + 15], -float("inf"))

        return x + self.out(flex_attention(q, k, v, score_mod=score_mod).transpose(1, 2).flatten(-2))


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Attention(), backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)


def run():
    for _ in range(2):
        x = torch.randn(2, 16, 16)
        loss = (model(x)[:, :-1] - x[:, 1:]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
