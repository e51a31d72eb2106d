"""Adversarial training: the attack's backward fills the gradients of the network, which are cleared afterwards."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def pgd(net, x, y, eps=0.1, alpha=0.04, steps=3):
    delta = torch.zeros_like(x).uniform_(-eps, eps).requires_grad_()
    for _ in range(steps):
        F.cross_entropy(net(x + delta), y).backward()
        with torch.no_grad():
            delta.add_(alpha * delta.grad.sign()).clamp_(-eps, eps)
        delta.grad.zero_()
    return (x + delta).detach()


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    for _ in range(3):
        x, y = torch.randn(16, 8), torch.randint(3, (16,))
        adv = pgd(net, x, y)
        opt.zero_grad()
        loss = 0.5 * F.cross_entropy(net(x), y) + 0.5 * F.cross_entropy(net(adv), y)
        loss.backward()
        opt.step()
    return net


TRUTH = Truth()
