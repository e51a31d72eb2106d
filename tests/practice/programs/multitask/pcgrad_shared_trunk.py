"""PCGrad: per-task gradients of a shared trunk are projected off each other and written to .grad by hand."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 10), nn.Tanh())
        self.heads = nn.ModuleList([nn.Linear(10, 1) for _ in range(3)])

    def forward(self, x):
        z = self.trunk(x)
        return [h(z).squeeze(-1) for h in self.heads]


def flat(grads):
    return torch.cat([g.reshape(-1) for g in grads])


def project(task_grads):
    surgery = [g.clone() for g in task_grads]
    for i, g in enumerate(surgery):
        for j, other in enumerate(task_grads):
            if i != j:
                dot = torch.dot(g, other)
                if dot < 0:
                    g.sub_(other, alpha=(dot / other.dot(other)).item())
    return sum(surgery)


def scatter(vector, params):
    at = 0
    for p in params:
        p.grad = vector[at : at + p.numel()].view_as(p)  # views of one flat buffer
        at += p.numel()


def run():
    torch.manual_seed(0)
    model = Shared()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    trunk = list(model.trunk.parameters())
    conflicts, records = 0, []
    w = torch.randn(3, 6)
    w[1] = -w[0]
    start = [p.detach().clone() for p in model.parameters()]
    for _ in range(4):
        x = torch.randn(16, 6)
        outs = model(x)
        losses = [F.mse_loss(o, x @ wi) for o, wi in zip(outs, w)]
        opt.zero_grad(set_to_none=True)
        task_grads = []
        for head, loss in zip(model.heads, losses):
            own = list(head.parameters())
            grads = torch.autograd.grad(loss, trunk + own, retain_graph=True)
            task_grads.append(flat(grads[: len(trunk)]))
            for p, g in zip(own, grads[len(trunk) :]):
                p.grad = g
        gram = torch.stack(task_grads) @ torch.stack(task_grads).T
        conflicts += int((gram < 0).sum())
        scatter(project(task_grads), trunk)
        records.append((torch.stack(task_grads), flat([p.grad for p in trunk])))
        opt.step()
    return conflicts, records, start, [p.detach().clone() for p in model.parameters()]


def verify(outcome):
    conflicts, records, start, end = outcome
    assert conflicts > 0
    for tasks, written in records:
        total = torch.zeros_like(written, dtype=torch.double)
        tasks = tasks.double()
        for i in range(3):
            g = tasks[i]
            for j in range(3):
                if j != i:
                    c = (g * tasks[j]).sum()
                    g = g - torch.clamp(c, max=0) / (tasks[j] ** 2).sum() * tasks[j]
            total = total + g
        assert torch.allclose(total.float(), written, atol=1e-5)
    assert all(not torch.equal(a, b) for a, b in zip(start, end))


TRUTH = Truth()
