"""Projected gradient descent: the factors are clamped in place after the step without no_grad."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class NMF(nn.Module):
    def __init__(self, rows, cols, rank):
        super().__init__()
        self.W = nn.Parameter(torch.rand(rows, rank))
        self.H = nn.Parameter(torch.rand(rank, cols))

    def forward(self):
        return self.W @ self.H


class ProjectedSGD:
    def __init__(self, model, lr, l1=1e-3):
        self.model, self.l1 = model, l1
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.5)
        self.sched = torch.optim.lr_scheduler.MultiplicativeLR(self.opt, lambda step: 0.95)

    def project(self):  # also
        for p in self.model.parameters():
            p.clamp_(min=0)  # cause

    def step(self, target, mask):
        approx = self.model()
        rec = F.mse_loss(approx[mask], target[mask])
        loss = rec + self.l1 * self.model.H.sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sched.step()
        self.project()
        return rec.item()


def run():
    torch.manual_seed(0)
    target = torch.rand(12, 3) @ torch.rand(3, 10)
    mask = torch.rand_like(target) < 0.8
    model = NMF(12, 10, rank=3)
    solver = ProjectedSGD(model, lr=0.5)
    for it in range(3):
        rec = solver.step(target, mask)
        with torch.no_grad():
            held_out = F.mse_loss(model()[~mask], target[~mask]).item()
        print(f"it {it} train {rec:.4f} held out {held_out:.4f}")
    return model


TRUTH = Truth(
    fault="an in-place change of a leaf that requires gradients",
    raises="a leaf Variable that requires grad is being used in an in-place operation",
    repair=("p.data.clamp_(min=0)",),
)
