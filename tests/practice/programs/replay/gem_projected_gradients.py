"""Continual learning by GEM: gradients on stored tasks are kept as rows, and a conflict is projected away in .grad."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def store_grad(params, row):
    row.zero_()
    offset = 0
    for p in params:
        if p.grad is not None:
            row[offset : offset + p.numel()].copy_(p.grad.data.view(-1))
        offset += p.numel()


def overwrite_grad(params, new):
    offset = 0
    for p in params:
        p.grad.data.copy_(new[offset : offset + p.numel()].view_as(p.grad))
        offset += p.numel()


def project(gradient, memories):
    for m in memories:
        dot = gradient @ m
        if dot < 0:
            gradient = gradient - dot / (m @ m) * m
    return gradient


def run():
    torch.manual_seed(0)
    tasks, classes = 3, 2
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, tasks * classes))
    params = list(net.parameters())
    optimizer = torch.optim.SGD(params, lr=0.1)
    rows = torch.zeros(tasks, sum(p.numel() for p in params))
    memory, projected, losses = {}, 0, []

    def task_loss(x, y, t):
        out = net(x)[:, t * classes : (t + 1) * classes]
        return F.cross_entropy(out, y)

    for t in range(tasks):
        w = torch.randn(6)
        for _ in range(3):
            x = torch.randn(12, 6)
            y = (x @ w > 0).long()
            for past, (mx, my) in memory.items():
                optimizer.zero_grad()
                task_loss(mx, my, past).backward()
                store_grad(params, rows[past])
            optimizer.zero_grad()
            loss = task_loss(x, y, t)
            loss.backward()
            if memory:
                store_grad(params, rows[t])
                new = project(rows[t], rows[:t])
                if not torch.equal(new, rows[t]):
                    overwrite_grad(params, new)
                    projected += 1
            optimizer.step()
            losses.append(loss.item())
        memory[t] = (x[:6].clone(), y[:6].clone())
    return net, rows, projected, losses


TRUTH = Truth()


def verify(out):
    net, rows, projected, losses = out
    assert projected > 0 and not rows.requires_grad and len(losses) == 9 and max(losses) < 100
    assert all(torch.isfinite(p).all() for p in net.parameters())
