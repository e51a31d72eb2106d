"""Knowledge distillation: a compiled teacher in eval mode under no_grad, a compiled student."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global teacher, student, optimizer
    teacher = torch.compile(nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 3)).eval(), backend=BACKEND)
    student = nn.Linear(4, 3)
    student.compile(backend=BACKEND)
    optimizer = torch.optim.Adam(student.parameters())


@torch.compile(backend=BACKEND)
def distil(s, t):
    return F.kl_div(F.log_softmax(s, -1), F.softmax(t, -1), reduction="batchmean")


def run():
    for _ in range(3):
        x = torch.randn(3, 4)
        with torch.no_grad():
            goal = teacher(x)
        optimizer.zero_grad()
        distil(student(x), goal).backward()
        optimizer.step()
