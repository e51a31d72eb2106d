"""Training of a compiled super-resolution network is resumed with assign=True, behind the optimizer's back."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Upscaler(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.lift, self.body = nn.Conv2d(1, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.to_pixels = nn.Conv2d(width, 4, 1)

    def forward(self, x):
        h = F.relu(self.lift(x))
        h = h + F.relu(self.body(h))
        return F.pixel_shuffle(self.to_pixels(h), 2)


class Run:
    def __init__(self, checkpoint=None):
        self.model = Upscaler()
        self.model.compile(backend=BACKEND)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)  # also
        if checkpoint is not None:
            self.model.load_state_dict(checkpoint["model"], assign=True)  # cause
            self.optimizer.load_state_dict(checkpoint["optimizer"])

    def train(self, steps):
        for _ in range(steps):
            fine = torch.rand(4, 1, 8, 8)
            loss = F.l1_loss(self.model(F.avg_pool2d(fine, 2)), fine)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()  # symptom

    def checkpoint(self):
        model = {name: value.clone() for name, value in self.model.state_dict().items()}
        return {"model": model, "optimizer": self.optimizer.state_dict()}


def run():
    torch.manual_seed(0)
    first = Run()
    first.train(2)
    saved = first.checkpoint()
    before = {name: value.clone() for name, value in saved["model"].items()}
    resumed = Run(saved)
    resumed.train(3)
    return {name: (p - before[name]).abs().max().item() for name, p in resumed.model.named_parameters()}


def verify(outcome):
    assert all(moved == 0 for moved in outcome.values())


TRUTH = Truth(
    fault="assign=True gives the model new parameters; the optimizer steps the ones it was made with",
    names=("assign", "optimizer"),
    repair=('self.model.load_state_dict(checkpoint["model"])',),
)
