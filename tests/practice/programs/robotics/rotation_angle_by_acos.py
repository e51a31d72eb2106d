"""The angle between two rotations by acos of the trace, whose derivative at no rotation is infinite."""

import torch
from torch import nn

from tests.practice.truth import Truth


def rotation(v):
    skew = torch.zeros(len(v), 3, 3)
    skew = skew.index_put((torch.arange(len(v)), torch.tensor(2), torch.tensor(1)), v[:, 0])
    skew = skew.index_put((torch.arange(len(v)), torch.tensor(0), torch.tensor(2)), v[:, 1])
    skew = skew.index_put((torch.arange(len(v)), torch.tensor(1), torch.tensor(0)), v[:, 2])
    return torch.linalg.matrix_exp(skew - skew.transpose(1, 2))


def angle(a, b):
    trace = (a.transpose(1, 2) @ b).diagonal(dim1=1, dim2=2).sum(1)
    return torch.acos(((trace - 1) / 2).clamp(-1, 1))  # cause


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    nn.init.zeros_(net.weight)
    nn.init.zeros_(net.bias)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    x, target = torch.randn(6, 4), torch.eye(3).expand(6, 3, 3)
    for _ in range(2):
        loss = angle(rotation(net(x)), target).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


def verify(net):
    assert net.weight.isnan().any()


TRUTH = Truth(
    fault="the derivative of acos at 1 is infinite",
    values=True,
    names=("acos",),
    repair=("return torch.acos(((trace - 1) / 2).clamp(-1 + 1e-6, 1 - 1e-6))",),
)
