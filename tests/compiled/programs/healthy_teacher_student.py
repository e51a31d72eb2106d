"""Self-distillation with a moving teacher, both forwards in one compiled function."""

import copy

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Distill(nn.Module):
    def __init__(self, student, momentum=0.8):
        super().__init__()
        self.student = student
        self.teacher = copy.deepcopy(student).requires_grad_(False)
        self.register_buffer("center", torch.zeros(4))
        self.momentum = momentum

    def forward(self, a, b):
        s = self.student(a)
        with torch.no_grad():
            t = self.teacher(b)
            target = ((t - self.center) / 0.5).softmax(-1)
            self.center.lerp_(t.mean(0), 0.1)
        return -(target * s.log_softmax(-1)).sum(-1).mean()

    @torch.no_grad()
    def follow(self):
        torch._foreach_lerp_(list(self.teacher.parameters()), list(self.student.parameters()), 1 - self.momentum)


def run():
    torch.manual_seed(0)
    module = Distill(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4)))
    loss_fn = torch.compile(module, backend=BACKEND)
    opt = torch.optim.AdamW(module.student.parameters(), lr=1e-2)
    first = copy.deepcopy(module.state_dict())
    for _ in range(3):
        x = torch.randn(16, 6)
        loss = loss_fn(x + 0.1 * torch.randn_like(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        module.follow()
    return first, module


def right(out):
    first, module = out
    assert all(not torch.equal(v, first[k]) for k, v in module.state_dict().items())
    assert all(p.grad is None for p in module.teacher.parameters())


TRUTH = Truth()
