"""Quantization-aware fine-tuning with a compiled linear layer."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


def quantize(w, bits=4):
    top = 2 ** (bits - 1) - 1
    scale = w.detach().abs().amax(1, keepdim=True) / top
    q = (w / scale).round().clamp(-top, top) * scale  # also
    return q  # cause


class QLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, quantize(self.weight), self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = QLinear(6, 12)
        self.b = QLinear(12, 2)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


def run():
    torch.manual_seed(0)
    net = Net()
    fast = torch.compile(net, backend=BACKEND, fullgraph=True)
    start = net.a.weight.detach().clone()
    opt = torch.optim.SGD(net.parameters(), lr=0.2)
    for _ in range(4):
        x = torch.randn(16, 6)
        loss = F.cross_entropy(fast(x), (x[:, 0] > 0).long())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
    return start, net


def right(out):
    start, net = out
    assert not torch.equal(start, net.a.weight), "weights never moved"


TRUTH = Truth(
    fault="rounding has a zero derivative and there is no straight-through estimate",
    names=("a.weight", "b.weight"),
    repair=("return w + (q - w).detach()",),
)
