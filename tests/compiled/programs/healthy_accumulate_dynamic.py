"""Accumulation over ragged micro-batches, compiled in place, compiled optimizer step."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

SIZES = [5, 9, 7, 12]


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 1))


def windows():
    g = torch.Generator().manual_seed(5)
    for _ in range(2):
        yield [torch.randn(n, 4, generator=g) for n in SIZES]


def target(x):
    return x.norm(dim=1, keepdim=True)


def run():
    model = build()
    model.compile(backend=BACKEND, dynamic=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @torch.compile(backend=BACKEND)
    def step():
        opt.step()

    for window in windows():
        rows = sum(len(x) for x in window)
        for x in window:
            err = (model(x) - target(x)).square().sum()
            (err / rows).backward()
        step()
        opt.zero_grad(set_to_none=True)

    ref = build()
    o = torch.optim.SGD(ref.parameters(), lr=0.1, momentum=0.9)
    for window in windows():
        x = torch.cat(window)
        o.zero_grad()
        nn.functional.mse_loss(ref(x), target(x)).backward()
        o.step()
    return list(model.parameters()), list(ref.parameters())


def right(out):
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*out))


TRUTH = Truth()
