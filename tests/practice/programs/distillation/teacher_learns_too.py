"""Distillation: the teacher is a submodule of the student's wrapper, so it is in the optimizer and is trained to agree."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TextCNN(nn.Module):
    def __init__(self, width, vocab=30, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.conv = nn.Conv1d(width, width, 3, padding=1)
        self.out = nn.Linear(width, classes)

    def forward(self, ids):
        h = F.relu(self.conv(self.embed(ids).transpose(1, 2)))
        return self.out(h.amax(-1))


class Distiller(nn.Module):
    def __init__(self, student, teacher, temperature=2.0, alpha=0.7):
        super().__init__()
        self.student = student
        self.teacher = teacher  # cause
        self.temperature, self.alpha = temperature, alpha

    def forward(self, ids, label):
        s = self.student(ids)
        t = self.teacher(ids)
        soft = (
            F.kl_div(
                F.log_softmax(s / self.temperature, -1),
                F.softmax(t / self.temperature, -1),
                reduction="batchmean",
            )
            * self.temperature**2
        )
        return self.alpha * soft + (1 - self.alpha) * F.cross_entropy(s, label)


def tickets(n):
    ids = torch.randint(30, (n, 8))
    return ids, ids[:, 0] % 3


def pretrain(teacher, ids, label, steps=4):
    optimizer = torch.optim.Adam(teacher.parameters(), lr=1e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(teacher(ids), label).backward()
        optimizer.step()
    teacher.zero_grad()
    return teacher.eval()


def run():
    torch.manual_seed(0)
    ids, label = tickets(48)
    teacher = pretrain(TextCNN(width=24), ids, label)
    wisdom = teacher(ids).detach()
    distiller = Distiller(TextCNN(width=8), teacher)
    optimizer = torch.optim.AdamW(distiller.parameters(), lr=5e-3)  # also
    for _ in range(4):
        loss = distiller(ids, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return wisdom, teacher(ids).detach()


def verify(outcome):
    before, after = outcome
    assert not torch.equal(before, after)


TRUTH = Truth(
    fault="the teacher's parameters require grad and are stepped with the student's",
    names=("teacher",),
    repair=("self.teacher = teacher.requires_grad_(False)",),
)
