"""Elastic weight consolidation over two tasks."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class EWC:
    def __init__(self, model, lam=200.0):
        self.model, self.lam = model, lam
        self.fisher, self.anchor = {}, {}

    def consolidate(self, loader):
        self.model.eval()
        fisher = {n: torch.zeros_like(p) for n, p in self.model.named_parameters()}
        for x, y in loader:
            self.model.zero_grad()
            F.cross_entropy(self.model(x), y).backward()
            for n, p in self.model.named_parameters():
                fisher[n] += p.grad.pow(2) / len(loader)
        self.fisher = fisher
        self.anchor = {n: p.detach() for n, p in self.model.named_parameters()}  # cause
        self.model.zero_grad()
        self.model.train()

    def penalty(self):
        return (
            0.5
            * self.lam
            * sum(
                (self.fisher[n] * (p - self.anchor[n]).pow(2)).sum()
                for n, p in self.model.named_parameters()
                if n in self.anchor
            )
        )


def train_task(model, ewc, loader, epochs=2, lr=0.05):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    penalties = []
    for _ in range(epochs):
        for x, y in loader:
            reg = ewc.penalty()
            loss = F.cross_entropy(model(x), y) + reg
            opt.zero_grad()
            loss.backward()
            opt.step()
            penalties.append(float(reg))
    return penalties


def make_task(shift):
    batches = []
    for _ in range(3):
        x = torch.randn(16, 5)
        batches.append((x, ((x.sum(-1) + shift * x[:, 0]) > 0).long()))
    return batches


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
    ewc = EWC(model)
    first, second = make_task(0.0), make_task(-6.0)
    train_task(model, ewc, first)
    ewc.consolidate(first)
    return train_task(model, ewc, second)


TRUTH = Truth(
    fault="the anchor shares memory with the live parameters: the penalty is always zero",
    names=("anchor",),
    repair=("self.anchor = {n: p.detach().clone() for n, p in self.model.named_parameters()}",),
)


def well(out):
    assert out[-1] > 0


verify = fails(well)
