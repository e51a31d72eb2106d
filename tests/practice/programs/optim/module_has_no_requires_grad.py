"""`backbone.requires_grad = False` sets an attribute of the module: its parameters still learn."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    backbone, head = nn.Linear(4, 8), nn.Linear(8, 2)
    backbone.requires_grad = False  # cause
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
    fault="a module's attribute does not freeze its parameters",
    names=("requires_grad",),
    repair=("backbone.requires_grad_(False)",),
)
