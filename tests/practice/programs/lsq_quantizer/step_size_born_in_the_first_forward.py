"""LSQ quantisation-aware training: each step size is created in the first forward, when the optimizer is long made."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def grad_scale(x, scale):
    return (x - x * scale).detach() + x * scale


def round_pass(x):
    return (x.round() - x).detach() + x


class LsqQuantizer(nn.Module):
    def __init__(self, bits=4, signed=True):
        super().__init__()
        self.thd_neg = -(2 ** (bits - 1)) if signed else 0
        self.thd_pos = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
        self.s = None

    def init_from(self, x):
        self.s = nn.Parameter(2 * x.detach().abs().mean() / self.thd_pos**0.5)  # also

    def forward(self, x):
        if self.s is None:
            self.init_from(x)
        g = 1.0 / (self.thd_pos * x.numel()) ** 0.5
        s = grad_scale(self.s, g)
        return round_pass((x / s).clamp(self.thd_neg, self.thd_pos)) * s


class QuanLinear(nn.Module):
    def __init__(self, fp):
        super().__init__()
        self.weight, self.bias = fp.weight, fp.bias
        self.quan_w = LsqQuantizer()
        self.quan_a = LsqQuantizer(signed=False)

    def forward(self, x):
        return F.linear(self.quan_a(x), self.quan_w(self.weight), self.bias)


def replace_linears(model):
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            setattr(model, name, QuanLinear(child))
        else:
            replace_linears(child)
    return model


def run():
    torch.manual_seed(0)
    float_model = nn.Sequential(nn.Sigmoid(), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    model = replace_linears(float_model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)  # cause
    steps = []
    for _ in range(3):
        x, y = torch.randn(16, 8), torch.randint(0, 4, (16,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        steps.append([m.s.item() for m in model.modules() if isinstance(m, LsqQuantizer)])
    return steps


def verify(outcome):
    assert outcome[0] == outcome[1] == outcome[2]


TRUTH = Truth(
    fault="the step sizes s are made in the first forward, after the optimizer: they are learnable in name only",
    names=("quan_w.s",),
    repair=(
        "model(torch.randn(16, 8))\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)",
    ),
)
