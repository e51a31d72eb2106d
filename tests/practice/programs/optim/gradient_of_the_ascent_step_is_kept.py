"""SAM: the gradients of the first backward are still there when the second one adds to them."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
    same = []
    for _ in range(2):
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
            shifts = [p.grad * (0.05 / norm) for p in net.parameters()]
            for p, e in zip(net.parameters(), shifts):
                p.add_(e)
        loss = nn.functional.cross_entropy(net(x), y)
        alone = torch.autograd.grad(loss, net.weight, retain_graph=True)[0]
        loss.backward()  # cause
        same.append(torch.equal(alone, net.weight.grad))
        with torch.no_grad():
            for p, e in zip(net.parameters(), shifts):
                p.sub_(e)
        opt.step()
    return same


def verify(out):
    assert out == [False, False]


TRUTH = Truth(
    fault="two gradients of the same loss, at two points, are summed", repair=("opt.zero_grad()\nloss.backward()",)
)
