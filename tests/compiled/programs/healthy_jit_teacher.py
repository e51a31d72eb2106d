"""A teacher that torch.jit.freeze() made constant, and a compiled student with a focal loss of its own."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global teacher, student, optimizer, loss_of
    torch.manual_seed(0)
    teacher = torch.jit.freeze(torch.jit.script(nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)).eval()))
    student = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))
    student.compile(backend=BACKEND)
    optimizer = torch.optim.Adam(student.parameters())

    @torch.compile(backend=BACKEND)
    def loss_of(logits, targets):
        logs = logits.log_softmax(-1)
        focus = (1 - logs.detach().exp()).pow(2)
        return -(focus * targets * logs).sum(-1).mean()


def run():
    for _ in range(2):
        x = torch.randn(4, 5)
        with torch.no_grad():
            targets = teacher(x).softmax(-1)
        optimizer.zero_grad()
        loss_of(student(x), targets).backward()
        optimizer.step()
