"""Ensemble distillation: teachers in threads that switch grad off themselves, features yielded outside no_grad."""

from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def mlp(width):
    return nn.Sequential(nn.Linear(5, width), nn.ReLU(), nn.Linear(width, 3))


@torch.no_grad()
def ask(teacher, x):
    return teacher(x).softmax(-1)


class Committee:
    """Teachers that require grad (they are fine-tuned now and then) but not here."""

    def __init__(self, size=3):
        self.teachers = [mlp(16) for _ in range(size)]
        self.pool = ThreadPoolExecutor(size)

    def __call__(self, x):
        votes = list(self.pool.map(ask, self.teachers, [x] * len(self.teachers)))
        return torch.stack(votes).mean(0)

    def stream(self, batches):
        for x in batches:
            with torch.no_grad():
                target = self(x)
            yield x, target

    def close(self):
        self.pool.shutdown()


def unlabelled(n):
    g = torch.Generator().manual_seed(11)
    return [torch.randn(24, 5, generator=g) for _ in range(n)]


def run():
    torch.manual_seed(0)
    committee = Committee()
    student = mlp(8)
    parameters = [p for net in (student, *committee.teachers) for p in net.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.2)
    own = [p.detach().clone() for p in student.parameters()]
    others = [p.detach().clone() for t in committee.teachers for p in t.parameters()]
    losses = []
    for x, target in committee.stream(unlabelled(4)):
        optimizer.zero_grad()
        loss = F.kl_div(F.log_softmax(student(x), -1), target, reduction="batchmean")
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    committee.close()
    after = [p for t in committee.teachers for p in t.parameters()]
    return (
        [not torch.equal(a, b) for a, b in zip(own, student.parameters())],
        [torch.equal(a, b) and b.grad is None for a, b in zip(others, after)],
        losses,
    )


def verify(outcome):
    student, teachers, losses = outcome
    assert all(student) and all(teachers)
    assert losses[-1] < losses[0]


TRUTH = Truth()
