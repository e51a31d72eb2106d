"""`p.require_grad = False` sets an attribute that torch does not know: nothing is frozen."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    backbone, head = nn.Linear(4, 8), nn.Linear(8, 2)
    for p in backbone.parameters():
        p.require_grad = False  # cause
    opt = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.1)
    before = backbone.weight.detach().clone()
    for _ in range(2):
        opt.zero_grad()
        head(backbone(torch.randn(8, 4)).relu()).pow(2).mean().backward()
        opt.step()
    return torch.equal(before, backbone.weight)


def verify(out):
    assert not out


TRUTH = Truth(
    fault="the attribute is misspelt, so that nothing is frozen",
    names=("require_grad",),
    repair=("p.requires_grad = False",),
)
