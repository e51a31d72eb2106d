"""Second training stage: resume from a checkpoint with a lower learning rate."""

import io
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


@dataclass
class Stage:
    name: str
    lr: float
    steps: int
    resume: io.BytesIO | None = None


def make_model():
    return nn.Sequential(nn.Linear(6, 20), nn.Mish(), nn.Linear(20, 3))


class Runner:
    def __init__(self, stage):
        self.stage = stage
        self.model = make_model()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=stage.lr, weight_decay=1e-4)
        self.lrs = []
        if stage.resume is not None:
            self.load(stage.resume)

    def load(self, file):
        file.seek(0)
        ckpt = torch.load(file, map_location="cpu")
        self.model.load_state_dict(ckpt["model"])
        self.optimizer.load_state_dict(ckpt["optimizer"])  # cause

    def save(self):
        file = io.BytesIO()
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, file)
        return file

    def fit(self):
        for _ in range(self.stage.steps):
            x = torch.randn(16, 6)
            y = x[:, :3].argmax(-1)
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.lrs.append(self.optimizer.param_groups[0]["lr"])
        return self


def run():
    torch.manual_seed(0)
    first = Runner(Stage("pretrain", lr=1e-2, steps=4)).fit()
    second = Runner(Stage("polish", lr=1e-4, steps=4, resume=first.save())).fit()
    return second.lrs


TRUTH = Truth(
    minor=True,
    fault="loading the optimizer state brings back the old learning rate",
    names=("lr",),
    repair=(
        "self.optimizer.load_state_dict(ckpt['optimizer'])\nfor group in self.optimizer.param_groups:\n    group['lr'] = self.stage.lr",
    ),
)


def well(out):
    assert set(out) == {1e-4}


verify = fails(well)
