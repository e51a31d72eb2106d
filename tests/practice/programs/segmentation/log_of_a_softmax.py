"""Cross entropy by hand: the logarithm of a softmax that has become zero."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Conv2d(1, 3, 1)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    x = 400 * torch.rand(2, 1, 6, 6)
    mask = torch.randint(3, (2, 6, 6))
    for _ in range(2):
        probs = net(x).softmax(1)
        onehot = nn.functional.one_hot(mask, 3).permute(0, 3, 1, 2)
        loss = -(onehot * probs.log()).sum(1).mean()  # cause
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


def verify(net):
    assert net.weight.isnan().any()


TRUTH = Truth(
    fault="log of 0 is infinite",
    values=True,
    names=("log",),
    repair=("loss = -(onehot * net(x).log_softmax(1)).sum(1).mean()",),
)
