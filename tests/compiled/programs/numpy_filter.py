"""Spectral front end with a numpy step inside the compiled forward."""

import numpy as np
import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class FrontEnd(nn.Module):
    def __init__(self, n=16, k=5):
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(k) / k)
        self.n = n

    def forward(self, wave):
        frames = wave.unfold(-1, self.kernel.numel(), 1) @ self.kernel
        energy = np.log1p(frames.detach().numpy() ** 2)  # cause
        return torch.as_tensor(energy)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = FrontEnd()
        self.head = nn.Linear(12, 2)

    def forward(self, wave):
        return self.head(self.front(wave))


def run():
    torch.manual_seed(0)
    model = Tagger()
    start = model.front.kernel.detach().clone()
    step = torch.compile(model, backend=BACKEND)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        wave = torch.randn(8, 16)
        loss = nn.functional.cross_entropy(step(wave), (wave.mean(1) > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return start, model


def right(out):
    start, model = out
    assert not torch.equal(start, model.front.kernel), "the kernel is never trained"


TRUTH = Truth(
    fault="the numpy step drops the graph before the front end",
    names=("front.kernel",),
    repair=("energy = torch.log1p(frames ** 2)",),
)
