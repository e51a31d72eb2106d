"""Keras to PyTorch: fit() of the port compiles, i.e. makes the optimizer anew, at every epoch; Adam's moments and count start from zero each time."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class KerasLike(nn.Module):
    """compile(), fit() and history, as the team was used to."""

    def compile(self, optimizer="adam", learning_rate=1e-3):
        makers = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
        self.optimizer = makers[optimizer](self.parameters(), lr=learning_rate)
        self.compiled_with = (optimizer, learning_rate)

    def fit(self, data, epochs):
        history = []
        for _ in range(epochs):
            self.compile(*self.compiled_with)  # cause
            self.train()
            history.append(sum(self.train_on_batch(x, y) for x, y in data) / len(data))
        return history

    def train_on_batch(self, x, y):
        self.optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(self(x).squeeze(-1), y)
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())


class ChurnModel(KerasLike):
    def __init__(self, features=7):
        super().__init__()
        self.stack = nn.Sequential(nn.Linear(features, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.stack(x)


def customers(batches=2):
    return [(x, (x.sum(dim=1) > 0).float()) for x in torch.randn(batches, 12, 7)]


def run():
    torch.manual_seed(0)
    model = ChurnModel()
    model.compile("adam", learning_rate=1e-2)
    model.fit(customers(), epochs=3)
    state = model.optimizer.state[model.stack[0].weight]
    return int(state["step"])


def verify(counted):
    assert counted == 2


TRUTH = Truth(
    fault="a new Adam is made each epoch: its moments and step count are lost",
    names=("optimizer",),
    repair=("pass",),
)
