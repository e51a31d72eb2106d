"""Class-incremental learning: gradients of the old classes' rows are zeroed, and AdamW's weight decay moves them all the same."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class IncrementalNet(nn.Module):
    def __init__(self, dim=10, feat=16):
        super().__init__()
        self.convnet = nn.Sequential(nn.Linear(dim, feat), nn.ReLU())
        self.fc = None
        self.known = 0

    def update_fc(self, classes):
        fc = nn.Linear(self.convnet[0].out_features, classes)
        if self.fc is not None:
            self.known = self.fc.out_features
            fc.weight.data[: self.known] = self.fc.weight.data
            fc.bias.data[: self.known] = self.fc.bias.data
        self.fc = fc

    def forward(self, x):
        return self.fc(self.convnet(x))


class Learner:
    def __init__(self):
        self.network = IncrementalNet()
        self.task = 0

    def protect_old_rows(self):
        """The classifier of the classes already learnt must not change."""
        for p in (self.network.fc.weight, self.network.fc.bias):
            p.grad[: self.network.known] = 0.0

    def incremental_train(self, data, classes):
        self.network.update_fc(classes)
        if self.task > 0:
            self.network.convnet.requires_grad_(False)
        params = [p for p in self.network.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(params, lr=1e-2, weight_decay=5e-2)  # cause
        before = self.network.fc.weight.detach().clone()
        self.network.train()
        for x, y in data:
            optimizer.zero_grad()
            F.cross_entropy(self.network(x), y).backward()
            self.protect_old_rows()
            optimizer.step()
        self.task += 1
        drift = (self.network.fc.weight.detach() - before).abs()
        known = self.network.known
        return (drift[:known].max().item() if known else 0.0), drift[known:].max().item()


def make_task(first, n, batches=3):
    data = []
    for _ in range(batches):
        y = torch.randint(first, first + n, (12,))
        data.append((torch.randn(12, 10) + y.unsqueeze(1), y))
    return data


def run():
    torch.manual_seed(0)
    learner = Learner()
    learner.incremental_train(make_task(0, 3), classes=3)
    return learner.incremental_train(make_task(3, 3), classes=6)


def verify(outcome):
    old, new = outcome
    assert new > 1e-3
    assert old > 1e-5


TRUTH = Truth(
    fault="a zero gradient is no protection from decoupled weight decay: the rows of the old classes shrink with each step",
    names=("fc.weight", "weight_decay"),
    repair=("optimizer = torch.optim.AdamW(params, lr=1e-2, weight_decay=0.0)",),
)
