"""Self-supervised: under gradient accumulation the teacher and its centre move with every micro-batch, not every update."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Backbone(nn.Module):
    def __init__(self, inp=12, dim=16, prototypes=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inp, dim), nn.GELU(), nn.Linear(dim, dim))
        self.prototypes = nn.utils.parametrizations.weight_norm(nn.Linear(dim, prototypes, bias=False))

    def forward(self, x):
        return self.prototypes(F.normalize(self.net(x), dim=-1))


class DINO(nn.Module):
    def __init__(self, momentum=0.9, center_momentum=0.9):
        super().__init__()
        self.student = Backbone()
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.register_buffer("center", torch.zeros(8))
        self.momentum, self.center_momentum = momentum, center_momentum

    def loss(self, a, b):
        with torch.no_grad():
            target = self.teacher(a)
            soft = ((target - self.center) / 0.04).softmax(-1)
        return -(soft * (self.student(b) / 0.1).log_softmax(-1)).sum(-1).mean(), target

    @torch.no_grad()
    def after_update(self, targets):
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.mul_(self.momentum).add_(s, alpha=1 - self.momentum)
        self.center.lerp_(targets.mean(0), 1 - self.center_momentum)


class Trainer:
    def __init__(self, method, accumulate):
        self.method, self.accumulate = method, accumulate
        self.optimizer = torch.optim.SGD(method.student.parameters(), lr=0.1)
        self.pending = []

    def fit(self, batches):
        teachers, updates = [], 0
        for i, x in enumerate(batches):
            a, b = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
            loss, target = self.method.loss(a, b)
            (loss / self.accumulate).backward()
            self.pending.append(target)
            if (i + 1) % self.accumulate == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
                updates += 1
            self.method.after_update(torch.cat(self.pending))  # cause
            if (i + 1) % self.accumulate == 0:
                self.pending = []
            teachers.append(self.method.center.clone())
        return teachers, updates


def run():
    torch.manual_seed(0)
    method = DINO()
    start = method.center.clone()
    trainer = Trainer(method, accumulate=3)
    with torch.no_grad():
        for p in method.student.net.parameters():
            p.add_(0.1 * torch.randn_like(p))  # the student is ahead of its teacher
    weight = method.teacher.net[0].weight.clone()
    teachers, updates = trainer.fit([torch.randn(8, 12) for _ in range(6)])
    moves = sum(not torch.equal(a, b) for a, b in zip([start, *teachers], teachers))
    return moves, updates, weight, method.teacher.net[0].weight


def verify(outcome):
    moves, updates, before, after = outcome
    assert updates == 2
    assert moves == 6
    assert not torch.equal(before, after)


TRUTH = Truth(
    fault="after_update runs per micro-batch: the teacher moves three times for each step of the student",
    names=("teacher", "center"),
    repair=("if (i + 1) % self.accumulate == 0:\n    self.method.after_update(torch.cat(self.pending))",),
)
