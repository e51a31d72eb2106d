"""Online learning from a stream: the optimizer is built anew for every batch, Adam never has any memory."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class StreamClassifier(nn.Module):
    def __init__(self, width=8, hidden=20, classes=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(width, hidden), nn.LayerNorm(hidden), nn.ReLU())
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.head(self.encoder(x))


class RingBuffer:
    def __init__(self, capacity):
        self.capacity, self.x, self.y = capacity, [], []

    def push(self, x, y):
        self.x = (self.x + list(x.clone()))[-self.capacity :]
        self.y = (self.y + list(y.clone()))[-self.capacity :]

    def draw(self, n):
        idx = torch.randint(0, len(self.x), (n,)).tolist()
        return torch.stack([self.x[i] for i in idx]), torch.stack([self.y[i] for i in idx])


class OnlineLearner:
    def __init__(self, model, lr=1e-3, replay=6):
        self.model, self.lr, self.replay = model, lr, replay
        self.buffer = RingBuffer(64)
        self.optimizer = self.configure_optimizer()

    def configure_optimizer(self):
        return torch.optim.AdamW(self.model.parameters(), lr=self.lr, betas=(0.9, 0.999), weight_decay=1e-4)

    def train_on_batch(self, x, y):
        self.model.train()
        self.optimizer = self.configure_optimizer()  # cause
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        if self.buffer.x:
            rx, ry = self.buffer.draw(self.replay)
            loss = loss + F.cross_entropy(self.model(rx), ry)
        loss.backward()
        self.optimizer.step()
        self.buffer.push(x, y)
        return loss.item()


def drifting_stream(batches, n=10):
    centre = torch.randn(4, 8)
    for _ in range(batches):
        centre = centre + 0.1 * torch.randn(4, 8)
        y = torch.randint(0, 4, (n,))
        yield centre[y] + 0.3 * torch.randn(n, 8), y


def run():
    torch.manual_seed(0)
    learner = OnlineLearner(StreamClassifier())
    losses = [learner.train_on_batch(x, y) for x, y in drifting_stream(4)]
    state = learner.optimizer.state[learner.model.head.weight]
    return losses, state["step"].item(), learner.model.head.weight.grad, state["exp_avg"]


def verify(outcome):
    losses, steps, grad, momentum = outcome
    assert len(losses) == 4 and steps == 1
    assert torch.allclose(momentum, 0.1 * grad, atol=1e-7)


TRUTH = Truth(
    fault="a new AdamW at every batch: its moments begin at zero each time, every step is its first",
    names=("optimizer", "exp_avg"),
    repair=("# the optimizer of __init__ goes on",),
)
