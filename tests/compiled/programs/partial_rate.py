"""A compiled whole step with the learning rate as a tensor, and a cosine schedule, for a small sequence model."""

import functools
import math

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the step is bound to the first rate tensor; the schedule binds a new tensor that nobody reads",
    names=("rate", "partial", "settings"),
    repair=('settings["rate"].fill_(0.1 * 0.5 * (1 + math.cos(math.pi * number / 5)))',),
)


def setup():
    torch.manual_seed(0)


def whole_step(model, x, y, *, rate):
    loss = nn.functional.cross_entropy(model(x).mean(1), y)
    grads = torch.autograd.grad(loss, list(model.parameters()))
    with torch.no_grad():
        for p, g in zip(model.parameters(), grads):
            p.sub_(rate * g)
    return loss.detach(), grads


def run():
    model = nn.Sequential(nn.Embedding(12, 8), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 3))
    settings = {"rate": torch.tensor(0.1)}
    compiled = torch.compile(whole_step, backend=BACKEND)
    step = functools.partial(compiled, model, rate=settings["rate"])  # also
    used = []
    for number in range(6):
        settings["rate"] = torch.tensor(0.1 * 0.5 * (1 + math.cos(math.pi * number / 5)))  # cause
        before = model[3].bias.detach().clone()
        _, grads = step(torch.randint(12, (8, 5)), torch.randint(3, (8,)))
        moved = (before - model[3].bias.detach()).norm()  # symptom
        used.append((moved / grads[-1].norm()).item())
    return used


def verify(outcome):
    assert all(abs(rate - 0.1) < 1e-4 for rate in outcome)
