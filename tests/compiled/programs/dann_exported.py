"""Domain adaptation: an exported network with a gradient reversal whose strength grows while it is trained."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="export makes the strength of the reversal, a Python number, a constant: it stays at the 0 of the first step",
    names=("strength", "export", "reverse"),
    repair=('self.register_buffer("strength", torch.tensor(0.0))',),
)


def reverse(x, strength):
    return (1 + strength) * x.detach() - strength * x


class Dann(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, width), nn.ELU(), nn.Linear(width, width))
        self.labels = nn.Linear(width, 4)
        self.domain = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
        self.strength = 0.0  # cause

    def forward(self, x):
        h = torch.relu(self.features(x))
        return self.labels(h), self.domain(reverse(h, self.strength)).squeeze(1)


def deployable():
    net = Dann()
    return torch.export.export(net, (torch.randn(16, 6),)).module()  # also


def set_strength(net, progress):
    value = 2 / (1 + math.exp(-10 * progress)) - 1
    if isinstance(getattr(net, "strength", None), torch.Tensor):
        net.strength.fill_(value)
    else:
        net.strength = value


def batch():
    source, target = torch.randn(8, 6), torch.randn(8, 6) + 1
    return torch.cat([source, target]), (source[:, 0] > 0).long() + 2 * (source[:, 1] > 0).long()


def setup():
    torch.manual_seed(0)


def run():
    net = deployable()
    domain_loss = torch.compile(F.binary_cross_entropy_with_logits, backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    is_target = torch.cat([torch.zeros(8), torch.ones(8)])
    reached = []
    for step in range(5):
        set_strength(net, step / 5)
        x, y = batch()
        label_logits, domain_logits = net(x)
        confusion = domain_loss(domain_logits, is_target)
        (slope,) = torch.autograd.grad(confusion, net.features.get_parameter("0.weight"), retain_graph=True)
        reached.append(slope.abs().max().item())  # symptom
        loss = F.cross_entropy(label_logits[:8], y) + confusion
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return reached


def verify(outcome):
    assert max(outcome) == 0
