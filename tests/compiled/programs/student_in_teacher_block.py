"""The block without gradients that is meant for the teacher also covers the student's features."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102"
NAMES = ("stem",)


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 8)
        self.head = nn.Linear(8, 3)


def setup():
    global student, teacher, optimizer, loss_of
    student = Student()
    teacher = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).requires_grad_(False)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)

    def distill(x):
        with torch.no_grad():  # cause
            wanted = teacher(x).softmax(-1)
            features = torch.relu(student.stem(x))
        return F.kl_div(student.head(features).log_softmax(-1), wanted, reduction="batchmean")

    loss_of = torch.compile(distill, backend=BACKEND)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        loss_of(torch.randn(6, 4)).backward()
        optimizer.step()
