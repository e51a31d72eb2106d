"""Gradient norm monitor and clipping over a generator of parameters that the optimizer has used up."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class RNNRegressor(nn.Module):
    def __init__(self, dim=3, hidden=8):
        super().__init__()
        self.cell = nn.RNN(dim, hidden, batch_first=True)
        self.norm = nn.LayerNorm(hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.cell(x)
        return self.out(self.norm(h[:, -1])).squeeze(-1)


def trainable(model):
    return filter(lambda p: p.requires_grad, model.parameters())  # cause


class Trainer:
    def __init__(self, model, max_norm=0.05):
        self.model = model
        self.max_norm = max_norm
        self.params = trainable(model)
        self.optimizer = torch.optim.SGD(self.params, lr=0.1)
        self.history = []

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.params, self.max_norm)
        self.history.append(float(norm))
        left = torch.stack([p.grad.norm() for p in self.model.parameters() if p.grad is not None]).norm()
        self.optimizer.step()
        return left.item()


def sequences(n):
    for _ in range(n):
        x = torch.randn(8, 6, 3)
        yield x, 4.0 * x[:, -1, 0]


def run():
    torch.manual_seed(0)
    model = RNNRegressor()
    model.norm.requires_grad_(False)
    trainer = Trainer(model)
    left = [trainer.step(x, y) for x, y in sequences(4)]
    return trainer.history, left


def verify(outcome):
    history, left = outcome
    assert all(norm == 0 for norm in history)
    assert min(left) > 0.5


TRUTH = Truth(
    fault="filter() is an iterator, the optimizer's constructor empties it; clip_grad_norm_ sees no parameter",
    names=("clip_grad_norm_",),
    repair=("return [p for p in model.parameters() if p.requires_grad]",),
)
