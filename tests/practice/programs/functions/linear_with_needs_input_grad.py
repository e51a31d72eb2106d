"""A linear layer as a Function that computes only the gradients that are asked for."""

import torch
from torch import nn

from tests.practice.truth import Truth


class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.t() + bias

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        gx = grad @ weight if ctx.needs_input_grad[0] else None
        gw = grad.t() @ x if ctx.needs_input_grad[1] else None
        gb = grad.sum(0) if ctx.needs_input_grad[2] else None
        return gx, gw, gb


class Linear(nn.Linear):
    def forward(self, x):
        return LinearFunction.apply(x, self.weight, self.bias)


class SumPenalty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale, ctx.shape = scale, x.shape
        return scale * x.sum()

    @staticmethod
    def backward(ctx, grad):
        return (grad * ctx.scale).expand(ctx.shape), None


def run():
    torch.manual_seed(0)
    net = nn.Sequential(Linear(4, 12), nn.Tanh(), Linear(12, 2))
    net[0].requires_grad_(False)
    opt = torch.optim.SGD(net[2].parameters(), 0.1)
    for _ in range(3):
        out = net(torch.randn(8, 4))
        loss = nn.functional.cross_entropy(out, torch.randint(2, (8,))) + SumPenalty.apply(out, 1e-3)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


TRUTH = Truth()
