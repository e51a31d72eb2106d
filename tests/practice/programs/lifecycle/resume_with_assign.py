"""Resume: load_state_dict(assign=True) after the optimizer was built puts new parameters into the model."""

import io

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Segmenter(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.down = nn.Conv2d(1, 6, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(6, classes, 2, stride=2)

    def forward(self, x):
        return self.up(F.relu(self.down(x)))


class Run:
    def __init__(self):
        self.model = Segmenter()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.epoch = 0

    def state(self):
        buffer = io.BytesIO()
        torch.save(
            {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": self.epoch}, buffer
        )
        return buffer.getvalue()

    def resume(self, data):
        state = torch.load(io.BytesIO(data))
        self.model.load_state_dict(state["model"], assign=True)  # cause
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch = state["epoch"]

    def train(self, epochs):
        for _ in range(epochs):
            x = torch.randn(4, 1, 8, 8)
            y = (x[:, 0] > 0).long() + (x[:, 0] > 1).long()
            self.optimizer.zero_grad()
            F.cross_entropy(self.model(x), y).backward()
            self.optimizer.step()
            self.epoch += 1


def weights(model):
    return torch.cat([p.detach().flatten().clone() for p in model.parameters()])


def run():
    torch.manual_seed(0)
    first = Run()
    first.train(2)
    data = first.state()

    second = Run()
    second.resume(data)
    before = weights(second.model)
    second.train(2)
    return before, weights(second.model), second.epoch


def verify(outcome):
    before, after, epoch = outcome
    assert epoch == 4 and torch.equal(before, after)


TRUTH = Truth(
    fault="assign=True replaces the parameters, the optimizer holds those of the fresh model; nothing is trained any more",
    names=("assign",),
    repair=('self.model.load_state_dict(state["model"])',),
)
