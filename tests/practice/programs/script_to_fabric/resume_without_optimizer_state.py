"""Script to Fabric: the checkpoint holds model and optimizer, but fabric.load() is only told of the model; Adam resumes with empty moments."""

import logging
import tempfile
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch import nn

from tests.practice.truth import Truth

logging.getLogger("lightning.fabric").setLevel(logging.ERROR)


class Autoencoder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.encoder = nn.Linear(dim, 3)
        self.decoder = nn.Linear(3, dim)

    def forward(self, x):
        return self.decoder(torch.tanh(self.encoder(x)))


def build(fabric):
    model = Autoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return fabric.setup(model, optimizer)


def train(fabric, model, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(8, 8)
        optimizer.zero_grad()
        fabric.backward(F.mse_loss(model(x), x))
        optimizer.step()


def run():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    fabric = Fabric(accelerator="cpu", devices=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "last.ckpt"
        model, optimizer = build(fabric)
        train(fabric, model, optimizer, steps=3)
        fabric.save(path, {"model": model, "optimizer": optimizer, "step": 3})

        model, optimizer = build(fabric)
        state = {"model": model}  # cause
        rest = fabric.load(path, state)  # also
        train(fabric, model, optimizer, steps=2)
    counts = [int(entry["step"]) for entry in optimizer.state.values()]
    return rest.get("step", 3), counts


def verify(outcome):
    step, counts = outcome
    assert step == 3 and set(counts) == {2}


TRUTH = Truth(
    fault="training is resumed without the optimizer's state, although the checkpoint holds it",
    names=("optimizer",),
    repair=('state = {"model": model, "optimizer": optimizer}',),
)
