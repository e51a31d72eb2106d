"""Distillation: no_grad in the main thread does not hold in the pool's threads, the teacher trains towards its student."""

from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def mlp(width):
    return nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 3))


class Distiller(nn.Module):
    def __init__(self, teachers=2):
        super().__init__()
        self.student = mlp(8)
        self.teachers = nn.ModuleList(mlp(24) for _ in range(teachers))

    def targets(self, x, pool):
        """Each teacher in a thread of its own."""
        with torch.no_grad():
            logits = list(pool.map(lambda teacher: teacher(x), self.teachers))  # cause
        return torch.stack(logits, 0).softmax(-1).mean(0)

    def forward(self, x, pool):
        target = self.targets(x, pool)
        return F.kl_div(self.student(x).log_softmax(-1), target, reduction="batchmean")


def pretrain(model, steps=2):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        x = torch.randn(16, 6)
        loss = sum(F.cross_entropy(t(x), x[:, :3].argmax(1)) for t in model.teachers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = Distiller()
    pretrain(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    optimizer.zero_grad()
    before = [p.detach().clone() for p in model.teachers.parameters()]
    with ThreadPoolExecutor(max_workers=2) as pool:
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(16, 6), pool).backward()
            optimizer.step()
    return [torch.equal(a, b) for a, b in zip(before, model.teachers.parameters())]


def verify(outcome):
    assert not any(outcome)


TRUTH = Truth(
    fault="grad mode is per thread: the teachers' forwards in the pool are recorded, the loss moves the teachers",
    names=("teachers",),
    repair=("logits = list(pool.map(torch.no_grad()(lambda teacher: teacher(x)), self.teachers))",),
)
