"""Training is interrupted and resumed: weights, optimizer, schedule and random state all come back from a buffer in memory."""

import io

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Dropout(0.2), nn.Linear(12, 3))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 2, 0.5)
        self.step_count = 0

    def train(self, steps):
        losses = []
        for _ in range(steps):
            x, y = torch.randn(8, 6), torch.randint(3, (8,))
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            self.step_count += 1
            losses.append(loss.item())
        return losses

    def save(self):
        buffer = io.BytesIO()
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "rng": torch.get_rng_state(),
            "step": self.step_count,
        }
        torch.save(state, buffer)
        return buffer.getvalue()

    def restore(self, raw):
        state = torch.load(io.BytesIO(raw), weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["rng"])
        self.step_count = state["step"]


def run():
    torch.manual_seed(0)
    first = Trainer()
    first.train(2)
    raw = first.save()
    straight = first.train(3)
    second = Trainer()
    second.restore(raw)
    resumed = second.train(3)
    return first, second, straight, resumed


TRUTH = Truth()


def verify(out):
    first, second, straight, resumed = out
    assert straight == resumed and first.step_count == second.step_count == 5
    assert all(torch.equal(a, b) for a, b in zip(first.model.parameters(), second.model.parameters()))
