"""Script to accelerate: save_state() and load_state() replaced the checkpoint dict; the EMA was never registered and restarts from random weights."""

import tempfile

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn

from tests.practice.truth import Truth


class Shadow:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.weights = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for name, p in model.named_parameters():
            self.weights[name].lerp_(p, 1 - self.decay)

    def state_dict(self):
        return {"decay": self.decay, "weights": self.weights}

    def load_state_dict(self, state):
        self.decay = state["decay"]
        self.weights = {name: value.clone() for name, value in state["weights"].items()}


def build():
    accelerator = Accelerator(cpu=True)
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    model, optimizer = accelerator.prepare(model, optimizer)
    shadow = Shadow(model)  # cause
    return accelerator, model, optimizer, shadow


def train(accelerator, model, optimizer, shadow, steps):
    for _ in range(steps):
        x, y = torch.randn(8, 5), torch.randint(0, 2, (8,))
        optimizer.zero_grad()
        accelerator.backward(F.cross_entropy(model(x), y))
        optimizer.step()
        shadow.update(model)


def run():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        session = build()
        train(*session, steps=3)
        session[0].save_state(folder)  # also
        saved = session[3].weights["0.weight"].clone()

        session = build()
        session[0].load_state(folder)  # also
        restored = session[3].weights["0.weight"].clone()
        train(*session, steps=2)
    return saved, restored


def verify(outcome):
    saved, restored = outcome
    assert not torch.allclose(saved, restored)


TRUTH = Truth(
    fault="the EMA weights are not part of the checkpoint: after resuming they are those of a random model",
    names=("weights",),
    repair=("shadow = Shadow(model)\naccelerator.register_for_checkpointing(shadow)",),
)
