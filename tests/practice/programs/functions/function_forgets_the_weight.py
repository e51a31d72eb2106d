"""A custom linear function asks `needs_input_grad` of the wrong input and gives the bias no gradient."""

import torch
from torch import nn

from tests.practice.truth import Truth


class MaskedLinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, mask):
        ctx.save_for_backward(x, weight, mask)
        return x @ (weight * mask).t() + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mask = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ (weight * mask)
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output.t() @ x) * mask
        if ctx.needs_input_grad[3]:  # cause
            grad_bias = grad_output.sum(0)
        return grad_x, grad_weight, grad_bias, None  # also


class MaskedLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) * 0.1)
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.register_buffer("mask", (torch.rand(n_out, n_in) > 0.3).float())

    def forward(self, x):
        return MaskedLinearFunction.apply(x, self.weight, self.bias, self.mask)


def run():
    torch.manual_seed(0)
    model = nn.Sequential(MaskedLinear(5, 8), nn.Tanh(), MaskedLinear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(6, 5)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model[0].bias


TRUTH = Truth(
    fault="the function returns None for the bias",
    names=("bias",),
    repair=("if ctx.needs_input_grad[2]:",),
)


def verify(bias):
    assert bias.grad is None
