"""The generator of parameters was consumed by the optimizer: clipping sees none."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    params = net.parameters()
    opt = torch.optim.SGD(params, 0.1)
    norms = []
    for _ in range(2):
        opt.zero_grad()
        (100 * net(torch.randn(8, 4)).pow(2).mean()).backward()
        norms.append(nn.utils.clip_grad_norm_(params, 1.0).item())  # cause
        opt.step()
    return norms


def verify(out):
    assert out == [0.0, 0.0]


TRUTH = Truth(
    fault="clip_grad_norm_ gets no parameter",
    names=("clip_grad_norm_",),
    repair=("norms.append(nn.utils.clip_grad_norm_(net.parameters(), 1.0).item())",),
)
