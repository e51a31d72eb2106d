"""Born-again nets: each generation's student is copied, frozen, and teaches the next, which starts afresh."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def make():
    return nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 3))


def train(student, teacher, data, steps=3):
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-2)
    for _ in range(steps):
        x, y = data()
        out = student(x)
        loss = F.cross_entropy(out, y, label_smoothing=0.1)
        if teacher is not None:
            with torch.no_grad():
                target = F.softmax(teacher(x), -1)
            loss = 0.5 * loss + 0.5 * torch.sum(-target * F.log_softmax(out, -1), -1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def ensemble(nets, x):
    with torch.inference_mode():
        return torch.stack([net(x).softmax(-1) for net in nets]).mean(0).numpy()


def run():
    torch.manual_seed(0)

    def data():
        x = torch.randn(16, 6)
        return x, (x[:, 0] > 0).long() + (x[:, 1] > 0.5).long()

    generations, losses, teacher = [], [], None
    for generation in range(3):
        student = make()
        losses.append(train(student, teacher, data))
        teacher = copy.deepcopy(student).eval()
        teacher.requires_grad_(False)
        for p in teacher.parameters():
            p.grad = None
        generations.append(teacher)
    return generations, losses, ensemble(generations, torch.randn(5, 6))


TRUTH = Truth()


def verify(out):
    generations, losses, probabilities = out
    assert all(p.grad is None and not p.requires_grad for net in generations for p in net.parameters())
    assert not torch.equal(generations[0][0].weight, generations[1][0].weight)
    assert probabilities.shape == (5, 3) and max(losses) < 10
