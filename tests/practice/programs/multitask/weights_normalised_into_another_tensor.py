"""GradNorm: the task weights are normalised by assignment; the optimizer keeps the tensor of before."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    w = torch.ones(2, requires_grad=True)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    opt_w = torch.optim.SGD([w], 0.1)
    seen = []
    for _ in range(3):
        out = net(torch.randn(8, 4))
        losses = torch.stack([out[:, 0].pow(2).mean(), (out[:, 1] - 1).pow(2).mean()])
        opt.zero_grad()
        opt_w.zero_grad()
        (w * losses).sum().backward()
        opt.step()
        opt_w.step()
        w = (2 * w / w.sum()).detach().requires_grad_()  # cause
        seen.append(w is opt_w.param_groups[0]["params"][0])
    return seen


def verify(out):
    assert not any(out)


TRUTH = Truth(
    fault="the weights that are used are in no optimizer",
    names=("w",),
    repair=("w.data.mul_(2 / w.data.sum())",),
)
