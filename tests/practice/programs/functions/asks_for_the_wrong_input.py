"""A Function that looks at `needs_input_grad` of the input to decide on the gradient of the weight."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x @ w.t() + b

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            gx = g @ w
        if ctx.needs_input_grad[0]:  # cause
            gw = g.t() @ x
        if ctx.needs_input_grad[2]:
            gb = g.sum(0)
        return gx, gw, gb


class Layer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.w, self.b = nn.Parameter(torch.randn(o, i) * 0.1), nn.Parameter(torch.zeros(o))

    def forward(self, x):
        return Linear.apply(x, self.w, self.b)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(Layer(5, 8), nn.ReLU(), Layer(8, 2))
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(2):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(8, 5)), torch.randint(2, (8,))).backward()
        opt.step()
    return net


def verify(net):
    assert net[0].w.grad is None and net[2].w.grad is not None


TRUTH = Truth(
    fault="the Function returns None for the weight of the first layer",
    names=("None",),
    repair=("if ctx.needs_input_grad[1]:",),
)
