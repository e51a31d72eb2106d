"""Several epochs over tensors in memory, with a compiled preprocessing function."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


@torch.compile(backend=BACKEND, dynamic=True)
def preprocess(x, noise):
    x += noise  # cause
    mean = x.mean(0, keepdim=True)
    std = x.std(0, keepdim=True).clamp_min(1e-6)
    return (x - mean) / std


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 3)

    def forward(self, x):
        return self.lin(x)


def run():
    torch.manual_seed(0)
    data = [torch.randn(n, 6) for n in (8, 12, 10)]
    labels = [x[:, :3].argmax(1) for x in data]
    original = [x.clone() for x in data]
    model = Probe()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for x, y in zip(data, labels):
            z = preprocess(x, 0.3 * torch.randn_like(x))
            loss = nn.functional.cross_entropy(model(z), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    return original, data


def right(out):
    assert all(torch.equal(a, b) for a, b in zip(*out)), "the data set has changed"


TRUTH = Truth(
    fault="augmentation adds its noise into the stored data, epoch after epoch",
    values=True,
    repair=("x = x + noise",),
)
