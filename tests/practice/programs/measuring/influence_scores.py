"""Influence scores of single samples: scoring them one by one in train mode drags BatchNorm's running statistics."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class BNNet(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.conv = nn.Conv1d(2, channels, 3, padding=1)
        self.bn = nn.BatchNorm1d(channels)
        self.fc = nn.Linear(channels, 2)

    def forward(self, x):
        return self.fc(F.relu(self.bn(self.conv(x))).mean(-1))


def sample_gradient(model, x, y):
    params = [p for p in model.parameters() if p.requires_grad]
    grads = torch.autograd.grad(F.cross_entropy(model(x[None]), y[None]), params)
    return torch.cat([g.flatten() for g in grads])


def tracin(model, train, valid):
    """TracIn: inner products of the gradients of training and validation samples at this checkpoint."""
    training = model.training
    model.train(training)  # cause
    try:
        reference = torch.stack([sample_gradient(model, x, y) for x, y in zip(*valid)]).mean(0)
        return torch.stack([sample_gradient(model, x, y) @ reference for x, y in zip(*train)])
    finally:
        model.train(training)


def signal(n, shift=0.0):
    y = torch.randint(0, 2, (n,))
    return torch.randn(n, 2, 9) + y.view(-1, 1, 1) + shift, y


def run():
    torch.manual_seed(0)
    model = BNNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train, valid = signal(16), signal(6, shift=4.0)
    drift = []
    for epoch in range(2):
        model.train()
        for i in range(0, 16, 8):
            optimizer.zero_grad()
            F.cross_entropy(model(train[0][i : i + 8]), train[1][i : i + 8]).backward()
            optimizer.step()
        before = model.bn.num_batches_tracked.item(), model.bn.running_mean.clone()
        scores = tracin(model, train, valid)
        assert scores.shape == (16,)
        drift.append(
            (model.bn.num_batches_tracked.item() - before[0], (model.bn.running_mean - before[1]).norm().item())
        )
    return drift


def verify(outcome):
    assert all(batches == 22 and shift > 0.01 for batches, shift in outcome)


TRUTH = Truth(
    fault="influence scores are computed in train mode; 22 single-sample forwards overwrite BatchNorm's running statistics",
    names=("bn",),
    repair=("model.eval()",),
)
