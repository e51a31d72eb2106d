"""Deduplicated: a retry decorator now wraps forward, backward and logging; when logging fails it repeats backward, too, and the batch's gradient is counted twice."""

from functools import wraps

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def retry(times=2, on=(IOError,)):
    def decorate(function):
        @wraps(function)
        def wrapper(*args, **kwargs):
            for attempt in range(times):
                try:
                    return function(*args, **kwargs)
                except on:
                    if attempt == times - 1:
                        raise

        return wrapper

    return decorate


class Writer:
    """Writes losses to a network drive that sometimes hiccups."""

    def __init__(self, fail_at=1):
        self.fail_at, self.calls, self.rows = fail_at, 0, []

    def write(self, row):
        self.calls += 1
        if self.calls == self.fail_at:
            raise IOError("stale file handle")
        self.rows.append(row)


class Session:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.writer = Writer()

    @retry(times=2)  # also
    def forward_backward(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()  # cause
        self.writer.write(float(loss.detach()))  # also

    def step(self, x, y):
        self.optimizer.zero_grad()
        self.forward_backward(x, y)
        used = self.model.weight.grad.clone()
        self.optimizer.step()
        return used


def run():
    torch.manual_seed(0)
    model = nn.Linear(5, 3)
    session = Session(model)
    ratios = []
    for _ in range(3):
        x, y = torch.randn(8, 5), torch.randint(0, 3, (8,))
        (right,) = torch.autograd.grad(F.cross_entropy(model(x), y), model.weight)
        ratios.append(float(session.step(x, y).norm() / right.norm()))
    return ratios


def verify(ratios):
    assert abs(ratios[0] - 2) < 1e-3 and abs(ratios[1] - 1) < 1e-3


TRUTH = Truth(
    fault="the retried function runs backward again without clearing: the first batch's gradient is doubled",
    names=("backward",),
    repair=("self.optimizer.zero_grad()\nloss.backward()",),
)
