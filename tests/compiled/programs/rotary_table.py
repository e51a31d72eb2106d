"""Language: a compiled attention layer takes its rotary table from a cache that is filled while generating."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the cached table is made in inference mode and later needed for backward",
    raises="Inference tensors cannot be saved for backward",
    names=("inference_mode", "table", "cache"),
    repair=("with torch.no_grad():",),
)


def table(cache, length, width):
    if length not in cache:
        angle = torch.arange(length)[:, None] * 100.0 ** (-torch.arange(0, width, 2) / width)
        cache[length] = (angle.cos(), angle.sin())  # also
    return cache[length]


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qk, self.v = nn.Linear(width, 2 * width), nn.Linear(width, width)

    def forward(self, x, cos, sin):
        def turn(h):
            a, b = h[..., ::2], h[..., 1::2]
            return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

        q, k = self.qk(x).chunk(2, -1)
        weights = torch.softmax(turn(q) @ turn(k).mT / x.shape[-1] ** 0.5, -1)
        return weights @ self.v(x)


def setup():
    torch.manual_seed(0)


def run():
    layer, cache = Attention(8), {}
    attend = torch.compile(layer, backend=BACKEND)
    optimizer = torch.optim.Adam(layer.parameters(), lr=1e-3)
    with torch.inference_mode():  # cause
        layer(torch.randn(2, 6, 8), *table(cache, 6, 8))
    for _ in range(2):
        x = torch.randn(2, 6, 8)
        loss = (attend(x, *table(cache, 6, 8)) - x.roll(1, 1)).square().mean()  # symptom
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def verify(outcome):
    assert outcome is None
