"""Adversarial training: the gradients are cleared before the attack, whose backward fills them again."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def fgsm(net, x, y, eps=0.1):
    x = x.clone().requires_grad_()
    F.cross_entropy(net(x), y).backward()  # cause
    return (x + eps * x.grad.sign()).detach()


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    gaps = []
    for _ in range(3):
        x, y = torch.randn(16, 8), torch.randint(3, (16,))
        opt.zero_grad()  # also
        adv = fgsm(net, x, y)
        loss = F.cross_entropy(net(adv), y)
        right = torch.autograd.grad(loss, net[0].weight, retain_graph=True)[0]
        loss.backward()
        gaps.append((net[0].weight.grad - right).abs().max().item())
        opt.step()
    return gaps


def verify(gaps):
    assert min(gaps) > 1e-3


TRUTH = Truth(
    fault="the gradients of the attack are added to those of the training loss",
    minor=True,
    names=("zero_grad",),
    repair=("(slope,) = torch.autograd.grad(F.cross_entropy(net(x), y), x)\nx.grad = slope",),
)
