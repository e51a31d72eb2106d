"""Old PyTorch to new: a legacy Function kept `self.mask` in its instance; the static port keeps it on the class, where the next layer overwrites it."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class HardTanhSTE(torch.autograd.Function):
    """Sign with a straight-through gradient inside [-1, 1] (binarized networks)."""

    @staticmethod
    def forward(ctx, x):
        HardTanhSTE.mask = x.abs() <= 1  # cause
        return x.sign()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * HardTanhSTE.mask  # cause


class BinaryLinear(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim, bias=False)
        self.norm = nn.BatchNorm1d(dim)

    def forward(self, x):
        return HardTanhSTE.apply(self.norm(self.linear(x)))


class BinaryNet(nn.Module):
    def __init__(self, dim=10, classes=3):
        super().__init__()
        self.layers = nn.Sequential(*(BinaryLinear(dim) for _ in range(3)))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.layers(x))


def run():
    torch.manual_seed(0)
    model = BinaryNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        x, y = torch.randn(9, 10), torch.randint(0, 3, (9,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    small = torch.tensor([0.5, 3.0], requires_grad=True)
    first = HardTanhSTE.apply(small)
    HardTanhSTE.apply(torch.tensor([4.0, 0.1], requires_grad=True))
    return torch.autograd.grad(first.sum(), small)[0]


def verify(gradient):
    assert gradient.tolist() == [0.0, 1.0]


TRUTH = Truth(
    fault="the mask of the straight-through estimator is shared by all calls: earlier layers are masked with the last layer's",
    names=("HardTanhSTE",),
    repair=("ctx.mask = x.abs() <= 1", "return grad_output * ctx.mask"),
)
