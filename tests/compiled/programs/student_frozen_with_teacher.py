"""requires_grad_(False) meant for the teacher is called on the compiled student's trunk, which both share."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG406 AG301"
NAMES = ("trunk",)


class Net(nn.Module):
    def __init__(self, trunk):
        super().__init__()
        self.trunk, self.head = trunk, nn.Linear(8, 3)

    def forward(self, x):
        return self.head(torch.relu(self.trunk(x)))


def setup():
    global student, teacher, optimizer
    torch.manual_seed(0)
    student = Net(nn.Linear(5, 8))
    teacher = copy.copy(student)
    teacher.requires_grad_(False)  # It has the same parameters, heads included.
    student.head = nn.Linear(8, 3)
    student.compile(backend=BACKEND)
    optimizer = torch.optim.Adam(student.parameters())


def run():
    for _ in range(2):
        x = torch.randn(4, 5)
        optimizer.zero_grad()
        F.kl_div(student(x).log_softmax(-1), teacher(x).softmax(-1), reduction="batchmean").backward()
        optimizer.step()
