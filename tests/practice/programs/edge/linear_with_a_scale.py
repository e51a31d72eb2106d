"""Edge: a hand-written linear function got one more argument, and backward still asks needs_input_grad by the old numbers."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class ScaledLinear(torch.autograd.Function):
    """y = scale * x W^T + b, with a backward that computes only what is asked for."""

    @staticmethod
    def forward(ctx, x, scale, weight, bias):
        ctx.save_for_backward(x, weight)
        ctx.scale = scale
        return scale * (x @ weight.t()) + bias

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = ctx.scale * (grad @ weight)
        if ctx.needs_input_grad[1]:  # cause
            grad_weight = ctx.scale * (grad.t() @ x)
        if ctx.needs_input_grad[2]:  # cause
            grad_bias = grad.sum(0)
        return grad_x, None, grad_weight, grad_bias


class TernaryLinear(nn.Module):
    def __init__(self, inp, out, scale=0.5):
        super().__init__()
        self.scale = scale
        self.weight = nn.Parameter(torch.empty(out, inp))
        self.bias = nn.Parameter(torch.zeros(out))
        nn.init.kaiming_uniform_(self.weight, a=5**0.5)

    def ternary(self):
        w = self.weight
        t = w.sign() * (w.abs() > 0.05)
        return w + (t - w).detach()

    def forward(self, x):
        return ScaledLinear.apply(x, self.scale, self.ternary(), self.bias)


class Wakeword(nn.Module):
    def __init__(self, inp=16, classes=3):
        super().__init__()
        self.layers = nn.ModuleList([TernaryLinear(inp, 16), TernaryLinear(16, 16)])
        self.out = nn.Linear(16, classes)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.out(x)


def train(model, steps=4):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        x, y = torch.randn(12, 16), torch.randint(0, 3, (12,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = Wakeword()
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    train(model)
    return {n: torch.equal(before[n], p) for n, p in model.named_parameters()}


def verify(outcome):
    for name, same in outcome.items():
        assert same == (name.startswith("layers") and name.endswith("weight")), name


TRUTH = Truth(
    fault="needs_input_grad[1] belongs to scale, which needs none: backward returns None for the weight",
    names=("weight", "ScaledLinear"),
    repair=("if ctx.needs_input_grad[2]:", "if ctx.needs_input_grad[3]:"),
)
