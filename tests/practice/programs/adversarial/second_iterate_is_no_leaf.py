"""I-FGSM: after the first step the image is the result of an operation, and its gradient is None."""

import torch
from torch import nn

from tests.practice.truth import Truth


def attack(net, x, y, eps=0.1, alpha=0.03, steps=3):
    adv = x.clone().requires_grad_()
    for _ in range(steps):
        loss = nn.functional.cross_entropy(net(adv), y)
        loss.backward()
        adv = adv + alpha * adv.grad.sign()  # cause
        adv = torch.min(torch.max(adv, x - eps), x + eps)  # also
    return adv.detach()


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 3))
    return attack(net, torch.rand(4, 1, 4, 4), torch.randint(3, (4,)))


TRUTH = Truth(
    fault="the new image is no leaf",
    raises="'NoneType' object has no attribute 'sign'",
    names=("adv",),
    repair=("adv = (adv + alpha * adv.grad.sign()).detach().requires_grad_()\ncontinue",),
)
