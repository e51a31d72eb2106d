"""A penalty on orthogonality that is computed once, before the loop."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(6, 4)
    opt = torch.optim.SGD(net.parameters(), 0.1)

    def ortho():
        return 0.01 * (net.weight @ net.weight.T - torch.eye(4)).pow(2).sum()

    reg = ortho()  # also
    for _ in range(3):
        loss = net(torch.randn(8, 6)).pow(2).mean() + reg  # cause
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(
    fault="the graph of the penalty is freed by the first backward",
    raises="Trying to backward through the graph a second time",
    names=("reg",),
    repair=("loss = net(torch.randn(8, 6)).pow(2).mean() + ortho()",),
)
