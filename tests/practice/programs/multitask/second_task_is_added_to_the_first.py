"""PCGrad: the gradients of the second task are read without clearing those of the first."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    same = []
    for _ in range(2):
        out = net(torch.randn(8, 4))
        tasks, read = [out[:, 0].pow(2).mean(), (out[:, 1] - 1).abs().mean()], []
        opt.zero_grad()
        for loss in tasks:
            loss.backward(retain_graph=True)  # cause
            read.append(net.weight.grad.clone())
        alone = torch.autograd.grad(tasks[1], net.weight)[0]
        same.append(torch.equal(read[1], alone))
        a, b = (g.flatten() for g in read)
        if (dot := a @ b) < 0:
            a = a - dot / b.pow(2).sum() * b
        net.weight.grad = (a + b).view_as(net.weight)
        opt.step()
    return same


def verify(out):
    assert out == [False, False]


TRUTH = Truth(
    fault="the second gradient contains the first",
    repair=("opt.zero_grad()\nloss.backward(retain_graph=True)",),
)
