"""The backward of the second loss is limited to the head, and the trunk misses it."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    trunk = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
    cls, box = nn.Linear(16, 3), nn.Linear(16, 4)
    opt = torch.optim.SGD([*trunk.parameters(), *cls.parameters(), *box.parameters()], 0.05)
    for _ in range(3):
        h = trunk(torch.randn(8, 6))
        box_loss = nn.functional.smooth_l1_loss(box(h), torch.randn(8, 4))
        cls_loss = nn.functional.cross_entropy(cls(h), torch.randint(3, (8,)))
        opt.zero_grad()
        box_loss.backward(inputs=list(box.parameters()), retain_graph=True)
        cls_loss.backward(inputs=list(cls.parameters()))  # cause
        opt.step()
    return trunk


def verify(trunk):
    assert trunk[0].weight.grad is None


TRUTH = Truth(fault="no backward reaches the trunk", names=("inputs",), repair=("cls_loss.backward()",))
