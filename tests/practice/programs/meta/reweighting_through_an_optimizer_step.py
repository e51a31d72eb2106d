"""Learning to reweight: the look-ahead is taken by an optimizer, which autograd does not record."""

import copy
import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    vx, vy = torch.randn(6, 4), torch.randint(0, 2, (6,))
    for _ in range(2):
        eps = torch.zeros(8, requires_grad=True)
        meta = copy.deepcopy(net)
        inner = torch.optim.SGD(meta.parameters(), 0.1)
        loss = (F.cross_entropy(meta(x), y, reduction="none") * eps).sum()
        loss.backward(create_graph=True)
        inner.step()  # cause
        look = tuple(meta.parameters())  # cause
        val = F.cross_entropy(F.linear(vx, *look), vy)
        (g,) = torch.autograd.grad(val, eps)
        w = (-g).clamp(min=0)
        w = w / (w.sum() + 1e-8)
        opt.zero_grad()
        (F.cross_entropy(net(x), y, reduction="none") * w).sum().backward()
        opt.step()


TRUTH = Truth(
    fault="the weights of the examples reach the validation loss through optimizer.step() alone",
    raises="The differentiated Tensor at index 0",
    names=("eps",),
    repair=(
        "pass",
        "look = tuple(p - 0.1 * p.grad for p in meta.parameters())",
    ),
)
