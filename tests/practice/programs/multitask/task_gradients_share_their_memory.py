"""Gradient surgery: the first task's gradients are kept by reference, and `zero_grad` fills that memory with zeros."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(7, 16), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(16, 1), nn.Linear(16, 1)])

    def losses(self, x, targets):
        h = self.trunk(x)
        return [F.mse_loss(head(h).squeeze(1), y) for head, y in zip(self.heads, targets)]


def project(a, b):
    dot = (a * b).sum()
    return a - dot / b.pow(2).sum().clamp_min(1e-12) * b if dot < 0 else a


def surgery(model, opt, losses):
    kept = []
    for loss in losses:
        opt.zero_grad(set_to_none=False)
        loss.backward(retain_graph=True)
        kept.append([p.grad for p in model.trunk.parameters()])  # cause
    for p, first, second in zip(model.trunk.parameters(), *kept):
        p.grad = project(first, second) + project(second, first)
    return kept


def run():
    torch.manual_seed(0)
    model = Shared()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(3):
        x = torch.randn(24, 7)
        kept = surgery(model, opt, model.losses(x, [x[:, 0], -x[:, 0] * x[:, 1]]))
        opt.step()
    return kept


def verify(out):
    first, second = out
    assert all(torch.equal(a, b) for a, b in zip(first, second))


TRUTH = Truth(
    fault="both lists hold the last task's gradients",
    repair=("kept.append([p.grad.clone() for p in model.trunk.parameters()])",),
)
