"""Reptile: the weights before the task are kept by state_dict(), whose tensors are the weights themselves."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


def make_model(hidden=16):
    return nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))


class SineTask:
    def __init__(self):
        self.phase = float(torch.rand(1)) * 2 * math.pi
        self.amp = 0.1 + 4.9 * float(torch.rand(1))

    def batch(self, n=10):
        x = torch.rand(n, 1) * 10 - 5
        return x, self.amp * torch.sin(x + self.phase)


def train_on_task(model, task, steps, lr):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(steps):
        x, y = task.batch()
        loss = (model(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def run(outer=3, outer_lr=0.1, inner_lr=0.02):
    torch.manual_seed(0)
    model = make_model()
    weights_before = None
    for iteration in range(outer):
        weights_before = model.state_dict()  # cause
        loss = train_on_task(model, SineTask(), steps=3, lr=inner_lr)
        weights_after = model.state_dict()
        frac = outer_lr * (1 - iteration / outer)
        model.load_state_dict(
            {k: weights_before[k] + (weights_after[k] - weights_before[k]) * frac for k in weights_before}
        )
        print(f"iteration {iteration} loss {loss:.3f} step {frac:.3f}")
    return model, weights_before


def verify(out):
    model, before = out
    assert all(torch.equal(p, before[n]) for n, p in model.named_parameters())


TRUTH = Truth(
    fault="the snapshot shares memory with the model, so there is no interpolation: plain joint training",
    names=("weights_before",),
    repair=("weights_before = {k: v.clone() for k, v in model.state_dict().items()}",),
)
