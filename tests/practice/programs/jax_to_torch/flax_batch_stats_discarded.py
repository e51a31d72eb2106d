"""Flax to PyTorch: apply(..., mutable=["batch_stats"]) became functional_call on copies of the buffers, whose updates are dropped."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


class ConvNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv = nn.Conv1d(2, 8, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(F.relu(self.bn(self.conv(x))).mean(dim=-1))


class TrainState:
    """What flax.training.train_state.TrainState held: params, batch_stats, the optimizer."""

    def __init__(self, model, learning_rate):
        self.model = model
        self.params = dict(model.named_parameters())
        self.batch_stats = dict(model.named_buffers())
        self.tx = torch.optim.SGD(self.params.values(), lr=learning_rate, momentum=0.9)

    def apply_fn(self, x, mutable=False):
        stats = {name: value.clone() for name, value in self.batch_stats.items()}  # also
        return functional_call(self.model, {**self.params, **stats}, (x,)), stats


def train_step(state, signals, labels):
    logits, updates = state.apply_fn(signals, mutable=["batch_stats"])  # also
    loss = F.cross_entropy(logits, labels)
    state.tx.zero_grad()
    loss.backward()
    state.tx.step()  # cause
    return float(loss.detach())


def run():
    torch.manual_seed(0)
    model = ConvNet().train()
    state = TrainState(model, learning_rate=0.05)
    for _ in range(4):
        train_step(state, torch.randn(8, 2, 12) * 3 + 1, torch.randint(0, 4, (8,)))
    return state.batch_stats["bn.running_mean"], int(state.batch_stats["bn.num_batches_tracked"])


def verify(outcome):
    mean, count = outcome
    assert count == 0 and not mean.any()


TRUTH = Truth(
    fault="the running statistics of the BatchNorm never change: the updated copies are thrown away",
    names=("bn",),
    repair=("state.tx.step()\nstate.batch_stats = updates",),
)
