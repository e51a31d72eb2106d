"""Hints: forward hooks keep the activations of both nets, the teacher's detached, and are removed at the end."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Features:
    def __init__(self, module, detach):
        self.detach = detach
        self.handle = module.register_forward_hook(self.hook)

    def hook(self, module, inputs, output):
        self.value = output.detach() if self.detach else output

    def close(self):
        self.handle.remove()


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Linear(10, width), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.fc = nn.Linear(width, 4)

    def forward(self, x):
        return self.fc(self.layer2(self.layer1(x)))


def run():
    torch.manual_seed(0)
    teacher, student = Net(24).eval(), Net(8)
    for p in teacher.parameters():
        p.requires_grad_(False)
    regressors = nn.ModuleList([nn.Linear(8, 24), nn.Linear(8, 24)])
    taps_t = [Features(m, True) for m in (teacher.layer1, teacher.layer2)]
    taps_s = [Features(m, False) for m in (student.layer1, student.layer2)]
    optimizer = torch.optim.Adam(list(student.parameters()) + list(regressors.parameters()), lr=1e-3)
    log = []
    for step in range(3):
        x = torch.randn(8, 10)
        soft = teacher(x).softmax(-1)
        logits = student(x)
        hint = sum(F.mse_loss(r(s.value), t.value) for r, s, t in zip(regressors, taps_s, taps_t))
        loss = F.cross_entropy(logits, soft) + 0.5 * hint
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append((loss.item(), hint.item()))
    for tap in taps_t + taps_s:
        tap.close()
    return teacher, student, regressors, log


TRUTH = Truth()


def verify(out):
    teacher, student, regressors, log = out
    assert all(p.grad is None for p in teacher.parameters())
    assert all(p.grad.abs().sum() > 0 for m in (student, regressors) for p in m.parameters())
    assert not student.layer1._forward_hooks
