"""Physics-informed net: the fast activation is once_differentiable, the residual needs its second derivative."""

import torch
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from tests.practice.truth import Truth


class FastSine(Function):
    @staticmethod
    def forward(ctx, x, frequency):
        ctx.save_for_backward(x)
        ctx.frequency = frequency
        return torch.sin(frequency * x)

    @staticmethod
    @once_differentiable  # cause
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.frequency * torch.cos(ctx.frequency * x), None


class Siren(nn.Module):
    def __init__(self, width=12, frequency=3.0):
        super().__init__()
        self.a = nn.Linear(1, width)
        self.b = nn.Linear(width, 1)
        self.frequency = frequency

    def forward(self, t):
        return self.b(FastSine.apply(self.a(t), self.frequency))


def derivative(y, t):
    return torch.autograd.grad(y.sum(), t, create_graph=True)[0]


def oscillator_residual(model, t):
    """u'' + u = 0"""
    t = t.clone().requires_grad_()
    u = model(t)
    velocity = derivative(u, t)
    acceleration = derivative(velocity, t)  # symptom
    return (acceleration + u).pow(2).mean()


def initial_condition(model):
    return (model(torch.zeros(1, 1)) - 1).pow(2).mean()


def run():
    torch.manual_seed(0)
    model = Siren()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for step in range(3):
        t = torch.rand(16, 1) * 6
        loss = initial_condition(model)
        if step:  # the boundary alone first
            loss = loss + oscillator_residual(model, t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


TRUTH = Truth(
    fault="once_differentiable forbids the second derivative the residual needs, though backward is differentiable",
    raises="The differentiated Tensor at index 0 appears to not have been used in the graph",
    names=("FastSine",),
    repair=("",),
)
