"""Deduplicated: a Checkpointing mixin gathers named_parameters() and loads with strict=False; buffers fall away, statistics start anew after a reload."""

import io

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Checkpointing:
    def save(self):
        stream = io.BytesIO()
        torch.save(self.checkpoint(), stream)
        return stream.getvalue()

    def checkpoint(self):
        return {name: p.detach() for name, p in self.named_parameters()}  # cause

    def restore(self, blob):
        self.load_state_dict(torch.load(io.BytesIO(blob)), strict=False)  # also
        return self


class Anomaly(Checkpointing, nn.Module):
    """Scores how unlikely a reading is, given whitened features."""

    def __init__(self, sensors=5):
        super().__init__()
        self.whiten = nn.BatchNorm1d(sensors, affine=False)
        self.net = nn.Sequential(nn.Linear(sensors, 8), nn.Tanh(), nn.Linear(8, sensors))

    def forward(self, x):
        x = self.whiten(x)
        return (self.net(x) - x.detach()).square().mean(dim=1)


def train(model, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    model.train()
    for _ in range(steps):
        readings = torch.randn(16, 5) * 4 + 10
        optimizer.zero_grad()
        model(readings).mean().backward()
        optimizer.step()


@torch.no_grad()
def score(model, readings):
    return model.eval()(readings)


def run():
    torch.manual_seed(0)
    model = Anomaly()
    train(model, 3)
    blob = model.save()
    resumed = Anomaly().restore(blob)
    readings = torch.randn(4, 5) * 4 + 10
    scores = score(model, readings), score(resumed, readings)
    train(resumed, 1)
    return scores


def verify(scores):
    original, resumed = scores
    assert not torch.allclose(original, resumed)


TRUTH = Truth(
    fault="the checkpoint has no buffers: the running statistics are lost on reload, strict=False hides it",
    names=("whiten",),
    repair=("return self.state_dict()",),
)
