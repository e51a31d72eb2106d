"""Snapshot ensembles: warm restarts, the optimizer's state cleared by hand, copies kept on the side, weights swapped for evaluation; all right."""

import copy
import math

import torch
from torch import nn
from torch.func import functional_call, stack_module_state
from torch.nn import functional as F

from tests.practice.truth import Truth


class DenseNetTiny(nn.Module):
    def __init__(self, growth=4, layers=2, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(1, growth, 3, padding=1)
        self.layers = nn.ModuleList(
            [
                nn.Sequential(nn.BatchNorm2d(growth * i), nn.ReLU(), nn.Conv2d(growth * i, growth, 3, padding=1))
                for i in range(1, layers + 1)
            ]
        )
        self.fc = nn.Linear(growth * (layers + 1), classes)

    def forward(self, x):
        features = [self.stem(x)]
        for layer in self.layers:
            features.append(layer(torch.cat(features, 1)))
        return self.fc(torch.cat(features, 1).mean((2, 3)))


def cyclic_lr(optimizer, step, per_cycle, initial):
    for group in optimizer.param_groups:
        group["lr"] = initial / 2 * (math.cos(math.pi * (step % per_cycle) / per_cycle) + 1)


class SnapshotTrainer:
    def __init__(self, model, cycles=2, per_cycle=3, lr=0.1):
        self.model, self.cycles, self.per_cycle, self.lr = model, cycles, per_cycle, lr
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)
        self.snapshots = []

    def fit(self, sample):
        for cycle in range(self.cycles):
            self.optimizer.state.clear()  # momentum does not pass a restart
            self.model.train()
            for step in range(self.per_cycle):
                x, y = sample()
                cyclic_lr(self.optimizer, step, self.per_cycle, self.lr)
                self.optimizer.zero_grad()
                F.cross_entropy(self.model(x), y).backward()
                self.optimizer.step()
            self.snapshots.append(copy.deepcopy(self.model.state_dict()))
        return self

    @torch.no_grad()
    def predict(self, x):
        """The mean of the members, through the model itself; its own weights come back afterwards."""
        kept = {k: v.clone() for k, v in self.model.state_dict().items()}
        self.model.eval()
        total = 0
        for state in self.snapshots:
            self.model.load_state_dict(state)
            total = total + self.model(x).softmax(1)
        self.model.load_state_dict(kept)
        self.model.train()
        return total / len(self.snapshots)

    @torch.no_grad()
    def predict_stacked(self, x):
        members = []
        for state in self.snapshots:
            member = copy.deepcopy(self.model).eval()
            member.load_state_dict(state)
            members.append(member)
        params, buffers = stack_module_state(members)
        skeleton = copy.deepcopy(members[0]).to("meta")
        out = torch.vmap(lambda p, b: functional_call(skeleton, (p, b), (x,)))(params, buffers)
        return out.softmax(-1).mean(0)


def run():
    torch.manual_seed(0)
    trainer = SnapshotTrainer(DenseNetTiny())
    start = [p.detach().clone() for p in trainer.model.parameters()]
    trainer.fit(lambda: (torch.randn(6, 1, 6, 6), torch.randint(0, 3, (6,))))
    last = [p.detach().clone() for p in trainer.model.parameters()]
    x = torch.randn(4, 1, 6, 6)
    same = torch.allclose(trainer.predict(x), trainer.predict_stacked(x), atol=1e-5)
    kept = all(torch.equal(a, p) for a, p in zip(last, trainer.model.parameters()))
    moved = all(not torch.equal(a, b) for a, b in zip(start, last))
    differ = not torch.equal(trainer.snapshots[0]["fc.weight"], trainer.snapshots[1]["fc.weight"])
    return same, kept, moved, differ, trainer.model.training


def verify(outcome):
    assert outcome == (True,) * 5, outcome


TRUTH = Truth()
