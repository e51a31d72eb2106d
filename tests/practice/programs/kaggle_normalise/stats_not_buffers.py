"""'Validation loss differs after loading the checkpoint': the running statistics of an input scaler are plain tensors, not buffers."""

import os
import tempfile

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class RunningScaler(nn.Module):
    def __init__(self, n, momentum=0.3):
        super().__init__()
        self.momentum = momentum
        self.mean = torch.zeros(n)  # cause
        self.std = torch.ones(n)  # cause

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.mean += self.momentum * (x.mean(0) - self.mean)
                self.std += self.momentum * (x.std(0) - self.std)
        return (x - self.mean) / self.std


class PriceModel(nn.Module):
    def __init__(self, n=5):
        super().__init__()
        self.scaler = RunningScaler(n)
        self.mlp = nn.Sequential(nn.Linear(n, 12), nn.ReLU(), nn.Linear(12, 1))

    def forward(self, x):
        return self.mlp(self.scaler(x)).squeeze(-1)


def sample(n, gen):
    x = torch.rand(n, 5, generator=gen) * 40 + 10
    return x, x[:, 0] / 10 - x[:, 1] / 20


def val_loss(model, gen_seed=99):
    model.eval()
    x, y = sample(20, torch.Generator().manual_seed(gen_seed))
    with torch.no_grad():
        return nn.functional.l1_loss(model(x), y).item()


def run():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    model = PriceModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        model.train()
        x, y = sample(16, gen)
        optimizer.zero_grad()
        nn.functional.l1_loss(model(x), y).backward()
        optimizer.step()

    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "price_model.pt")
        torch.save({"model": model.state_dict(), "opt": optimizer.state_dict()}, path)
        ckpt = torch.load(path)
    restored = PriceModel()
    restored.load_state_dict(ckpt["model"])
    return val_loss(model), val_loss(restored)


def verify(outcome):
    trained, restored = outcome
    assert abs(trained - restored) > 0.1, outcome


TRUTH = Truth(
    fault="mean and std of the scaler are not registered as buffers, so no checkpoint holds them",
    names=("mean", "std"),
    repair=('self.register_buffer("mean", torch.zeros(n))', 'self.register_buffer("std", torch.ones(n))'),
)
