"""PCGrad: one backward per task with the graph kept, projected copies, and a mean that is written into the gradients."""

import copy
import random

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class PCGrad:
    def __init__(self, optimizer):
        self._optim = optimizer

    def zero_grad(self):
        return self._optim.zero_grad(set_to_none=True)

    def pc_backward(self, objectives):
        grads, has_grads = [], []
        for obj in objectives:
            self.zero_grad()
            obj.backward(retain_graph=True)
            g, h = [], []
            for group in self._optim.param_groups:
                for p in group["params"]:
                    g.append(torch.zeros(p.numel()) if p.grad is None else p.grad.clone().flatten())
                    h.append(torch.zeros(p.numel()) if p.grad is None else torch.ones(p.numel()))
            grads.append(torch.cat(g))
            has_grads.append(torch.cat(h))
        merged = self._project(grads, has_grads)
        offset = 0
        for group in self._optim.param_groups:
            for p in group["params"]:
                p.grad = merged[offset : offset + p.numel()].view_as(p)
                offset += p.numel()

    def _project(self, grads, has_grads):
        shared = torch.stack(has_grads).prod(0).bool()
        pc_grad, conflicts = copy.deepcopy(grads), 0
        for g_i in pc_grad:
            random.shuffle(grads)
            for g_j in grads:
                dot = torch.dot(g_i, g_j)
                if dot < 0:
                    g_i -= dot * g_j / (g_j.norm() ** 2)
                    conflicts += 1
        self.conflicts = conflicts
        merged = torch.zeros_like(grads[0])
        merged[shared] = torch.stack([g[shared] for g in pc_grad]).mean(dim=0)
        merged[~shared] = torch.stack([g[~shared] for g in pc_grad]).sum(dim=0)
        return merged

    def step(self):
        return self._optim.step()


def run():
    torch.manual_seed(0)
    random.seed(0)
    trunk, a, b = nn.Linear(6, 12), nn.Linear(12, 3), nn.Linear(12, 1)
    optimizer = PCGrad(torch.optim.Adam([*trunk.parameters(), *a.parameters(), *b.parameters()], lr=1e-2))
    conflicts, losses = [], []
    for _ in range(3):
        x = torch.randn(16, 6)
        h = torch.relu(trunk(x))
        task_losses = [F.cross_entropy(a(h), x.argmax(1) % 3), F.mse_loss(b(h), -x[:, :1])]
        optimizer.zero_grad()
        optimizer.pc_backward(task_losses)
        optimizer.step()
        conflicts.append(optimizer.conflicts)
        losses.append([loss.item() for loss in task_losses])
    return (trunk, a, b), conflicts, losses


TRUTH = Truth()


def verify(out):
    nets, conflicts, losses = out
    assert all(p.grad.abs().sum() > 0 for net in nets for p in net.parameters())
    assert all(loss < 100 for row in losses for loss in row)
