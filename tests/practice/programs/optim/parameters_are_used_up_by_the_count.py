"""The generator of the trainable parameters is consumed where they are counted; the optimizer clips what is left."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Clipped:
    def __init__(self, model, limit=0.1):
        self.trainable = (p for p in model.parameters() if p.requires_grad)  # cause
        self.limit = limit
        self.opt = torch.optim.SGD(self.trainable, lr=0.5)

    def step(self, loss):
        self.opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.trainable, self.limit)  # also
        self.opt.step()
        return norm


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    trainer = Clipped(model)
    x = torch.randn(32, 4)
    y = 50 * x[:, :1]
    for _ in range(3):
        norm = trainer.step(F.l1_loss(model(x), y))
    return norm.item()


def verify(out):
    assert out == 0.0


TRUTH = Truth(
    fault="a generator gives its items once: the optimizer took them, clipping sees none",
    repair=("self.trainable = [p for p in model.parameters() if p.requires_grad]",),
)
