"""Trainer keeps a plain model for saving and a compiled one for speed."""

import copy

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Trainer:
    def __init__(self, model, lr=0.05):
        self.plain = model
        self.fast = torch.compile(copy.deepcopy(model), backend=BACKEND)
        weights = self.plain.parameters()  # cause
        self.opt = torch.optim.AdamW(weights, lr=lr)  # also
        self.history = []

    def fit(self, batches):
        for x, y in batches:
            loss = nn.functional.cross_entropy(self.fast(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.history.append(loss.item())

    def export(self):
        return {k: v.clone() for k, v in self.plain.state_dict().items()}


def make_batches(n=6):
    x = torch.randn(32, 8)
    return [(x, (x[:, 0] > 0).long())] * n


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    trainer = Trainer(model)
    trainer.fit(make_batches())
    return trainer.history


def right(history):
    assert history[-1] < history[0] - 0.02, "the loss does not fall"


TRUTH = Truth(
    fault="the optimizer holds the plain copy, the compiled copy is trained",
    repair=("weights = self.fast.parameters()",),
)
