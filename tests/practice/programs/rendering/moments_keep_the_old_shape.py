"""Splatting: the new points take the place of the old in the group, with the moments of the old."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    xyz = nn.Parameter(torch.randn(10, 2))
    opt = torch.optim.Adam([xyz], lr=1e-2)
    points, image = torch.randn(20, 2), torch.rand(20)
    for step in range(3):
        loss = ((-torch.cdist(points, xyz).pow(2)).exp().sum(1) - image).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()  # symptom
        if step == 1:
            old = xyz
            xyz = nn.Parameter(torch.cat([old.detach(), old.detach()[:3]]))
            opt.param_groups[0]["params"][0] = xyz  # also
            opt.state[xyz] = opt.state.pop(old)  # cause


TRUTH = Truth(
    fault="the moments have the shape of the parameter before",
    raises="The size of tensor a (10) must match the size of tensor b (13)",
    repair=("opt.state.pop(old)",),
)
