"""Online EWC: the running importance squares the gradient in place before the step uses it."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Importance:
    def __init__(self, net, decay=0.9, strength=5.0):
        self.net, self.decay, self.strength = net, decay, strength
        self.value = {n: torch.zeros_like(p) for n, p in net.named_parameters()}
        self.anchor = {n: p.detach().clone() for n, p in net.named_parameters()}

    def penalty(self):
        total = 0.0
        for n, p in self.net.named_parameters():
            total = total + (self.value[n] * (p - self.anchor[n]).pow(2)).sum()
        return self.strength * total

    @torch.no_grad()
    def observe(self):
        for n, p in self.net.named_parameters():
            if p.grad is not None:
                self.value[n].mul_(self.decay).add_(p.grad.pow_(2), alpha=1 - self.decay)  # cause

    @torch.no_grad()
    def consolidate(self):
        for n, p in self.net.named_parameters():
            self.anchor[n].copy_(p)


def stream(tasks=2, batches=3):
    for task in range(tasks):
        rule = torch.randn(5)
        yield task, [(x, (x @ rule > 0).float()) for x in torch.randn(batches, 10, 5)]


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 1))
    importance, optimizer = Importance(net), torch.optim.SGD(net.parameters(), lr=0.1)
    smallest = []
    for task, batches in stream():
        for x, y in batches:
            loss = F.binary_cross_entropy_with_logits(net(x).squeeze(-1), y)
            if task > 0:
                loss = loss + importance.penalty()
            optimizer.zero_grad()
            loss.backward()
            importance.observe()
            optimizer.step()  # symptom
            smallest.append(min(p.grad.min().item() for p in net.parameters()))
        importance.consolidate()
    return smallest


def verify(smallest):
    assert min(smallest) >= 0


TRUTH = Truth(
    fault="the optimizer steps with squared gradients",
    names=("pow_",),
    repair=("self.value[n].mul_(self.decay).add_(p.grad.pow(2), alpha=1 - self.decay)",),
)
