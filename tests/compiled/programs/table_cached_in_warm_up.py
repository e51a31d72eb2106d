"""A warm-up under no_grad, made to compile early, fills the cache of a learned table that training then reads."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102"
NAMES = ("offsets", "bias_of")


class Attention(nn.Module):
    def __init__(self, width=6, length=5):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.offsets = nn.Parameter(torch.randn(2 * length - 1) * 0.1)
        self.bias = None

    def bias_of(self, length):
        if self.bias is None:
            places = torch.arange(length)
            self.bias = self.offsets[places[:, None] - places + length - 1] * 1.0
        return self.bias

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.mT / q.shape[-1] ** 0.5 + self.bias_of(x.shape[1])
        return self.out(scores.softmax(-1) @ v)


def setup():
    global attention, optimizer
    torch.manual_seed(0)
    attention = Attention()
    attention.compile(backend=BACKEND)
    optimizer = torch.optim.Adam(attention.parameters(), lr=1e-3)


def run():
    with torch.no_grad():  # cause
        attention(torch.zeros(1, 5, 6))
    for _ in range(2):
        x = torch.randn(2, 5, 6)
        optimizer.zero_grad()
        F.mse_loss(attention(x), x.flip(1)).backward()
        optimizer.step()
