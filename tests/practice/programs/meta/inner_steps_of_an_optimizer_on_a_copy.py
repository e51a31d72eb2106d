"""The inner loop trains a deep copy; the outer backward fills the copy's gradients, and the meta step moves nothing."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    meta = torch.optim.Adam(net.parameters(), 1e-2)
    before = net.weight.detach().clone()
    for _ in range(2):
        learner = copy.deepcopy(net)  # cause
        inner = torch.optim.SGD(learner.parameters(), 0.1)
        inner.zero_grad()
        F.mse_loss(learner(torch.randn(8, 3)), torch.randn(8, 1)).backward()
        inner.step()
        meta.zero_grad()
        inner.zero_grad()
        F.mse_loss(learner(torch.randn(8, 3)), torch.randn(8, 1)).backward()  # also
        meta.step()  # also
    return torch.equal(before, net.weight)


def verify(out):
    assert out


TRUTH = Truth(fault="the gradient lies on the copy", repair=("learner = net",))
