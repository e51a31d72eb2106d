"""PCGrad: gradients per task, conflicting parts projected away, the result put into .grad by hand: healthy."""

import random

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class PCGrad:
    def __init__(self, optimizer, seed=0):
        self.optimizer = optimizer
        self.random = random.Random(seed)

    @property
    def params(self):
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def zero_grad(self):
        self.optimizer.zero_grad(set_to_none=True)

    def step(self):
        self.optimizer.step()

    def _flat_grads(self, loss):
        grads = torch.autograd.grad(loss, self.params, retain_graph=True, allow_unused=True)
        return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for p, g in zip(self.params, grads)])

    def pc_backward(self, losses):
        grads = torch.stack([self._flat_grads(loss) for loss in losses])
        projected = grads.clone()
        for i, g in enumerate(projected):
            others = [j for j in range(len(losses)) if j != i]
            self.random.shuffle(others)
            for j in others:
                dot = g @ grads[j]
                if dot < 0:
                    g -= dot * grads[j] / grads[j].square().sum()
        merged, offset = projected.sum(0), 0
        for p in self.params:
            p.grad = merged[offset : offset + p.numel()].view_as(p).clone()
            offset += p.numel()
        return grads, projected


class TwoHeads(nn.Module):
    def __init__(self, width=6, hidden=20):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.a, self.b, self.c = nn.Linear(hidden, 1), nn.Linear(hidden, 1), nn.Linear(hidden, 2)

    def forward(self, x):
        h = self.trunk(x)
        return self.a(h).squeeze(-1), self.b(h).squeeze(-1), self.c(h)


def run():
    torch.manual_seed(0)
    model = TwoHeads()
    optimizer = PCGrad(torch.optim.Adam(model.parameters(), lr=1e-3))
    before = [p.detach().clone() for p in model.parameters()]
    conflicts, fine = 0, []
    for _ in range(4):
        x = torch.randn(24, 6)
        a, b, c = model(x)
        losses = [F.mse_loss(a, x[:, 0]), F.mse_loss(b, -x[:, 0]), F.cross_entropy(c, (x[:, 1] > 0).long())]
        optimizer.zero_grad()
        grads, projected = optimizer.pc_backward(losses)
        conflicts += int(((grads @ grads.t()) < 0).sum())
        total = torch.cat([p.grad.flatten() for p in model.parameters()])
        fine.append(torch.allclose(total, projected.sum(0)))
        optimizer.step()
    return before, [p.detach() for p in model.parameters()], conflicts, fine


def verify(outcome):
    before, after, conflicts, fine = outcome
    assert conflicts and all(fine)
    assert all(not torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth()
