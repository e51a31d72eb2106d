"""Training to serving and back: the export folds weight norm into plain weights, on the living model; training goes on with an optimizer of the old parts."""

import io

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import weight_norm

from tests.practice.truth import Truth


class Vocoder(nn.Module):
    def __init__(self, channels=4):
        super().__init__()
        self.pre = weight_norm(nn.Conv1d(1, channels, 3, padding=1))
        self.post = weight_norm(nn.Conv1d(channels, 1, 3, padding=1))

    def forward(self, x):
        return self.post(F.leaky_relu(self.pre(x), 0.1))


def fold(model):
    for module in model.modules():
        if parametrize.is_parametrized(module):
            parametrize.remove_parametrizations(module, "weight")  # also
    return model


def export(model):
    served = fold(model)  # cause
    buffer = io.BytesIO()
    torch.save(served.state_dict(), buffer)
    return buffer.getvalue()


def train(model, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(4, 1, 16)
        optimizer.zero_grad()
        F.l1_loss(model(x), x.roll(1, dims=-1)).backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = Vocoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    train(model, optimizer, 2)
    export(model)
    before = model.pre.weight.detach().clone()
    train(model, optimizer, 2)
    return before, model.pre.weight.detach()


def verify(outcome):
    before, after = outcome
    assert torch.equal(before, after)


TRUTH = Truth(
    fault="after the export the convolutions have new plain weights, which no optimizer holds",
    names=("pre",),
    repair=("served = Vocoder()\nserved.load_state_dict(model.state_dict())\nfold(served)",),
)
