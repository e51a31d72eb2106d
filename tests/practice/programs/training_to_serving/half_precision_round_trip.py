"""Training to serving and back: half() for the export, float() afterwards; the master weights come back rounded, at every export."""

import copy
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Ranker(nn.Module):
    def __init__(self, features=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def publish(model, folder, version):
    """Serving wants fp16."""
    was_training = model.training
    model.eval().half()  # cause
    torch.save(model.state_dict(), Path(folder) / f"ranker-{version}.pt")
    model.float().train(was_training)  # also


def train_epoch(model, optimizer, steps=2):
    for _ in range(steps):
        x = torch.randn(8, 8)
        loss = F.mse_loss(model(x), x.mean(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = Ranker()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        for version in range(2):
            train_epoch(model, optimizer)
            before = model.net[0].weight.detach().clone()
            publish(model, folder, version)
            pairs.append((before, model.net[0].weight.detach().clone()))
    return pairs


def verify(pairs):
    assert all(not torch.equal(before, after) for before, after in pairs)


TRUTH = Truth(
    fault="publishing rounds the training weights to half precision: half() and float() work in place",
    names=("half",),
    repair=("model = copy.deepcopy(model)\nmodel.eval().half()",),
)
