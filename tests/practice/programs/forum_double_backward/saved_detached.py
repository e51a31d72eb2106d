"""Gradient penalty through a hand-written Function: backward works on what was stored detached on ctx, so the second derivative lacks a part."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class SquaredReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        pos = x.clamp(min=0)
        ctx.pos = pos  # cause
        return pos * pos

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2 * ctx.pos  # cause


class Energy(nn.Module):
    """A scalar energy whose input gradient is used as the force."""

    def __init__(self, dim=3, width=10):
        super().__init__()
        self.inp = nn.Linear(dim, width)
        self.out = nn.Linear(width, 1)

    def forward(self, r):
        return self.out(SquaredReLU.apply(self.inp(r))).sum()

    def reference(self, r):
        h = self.inp(r)
        return self.out(torch.relu(h) * torch.relu(h)).sum()


def force_loss(energy, r, target):
    (g,) = torch.autograd.grad(energy(r), r, create_graph=True)
    return (-g - target).pow(2).mean()


def run():
    torch.manual_seed(4)
    model = Energy()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    same = []
    for _ in range(3):
        r = torch.randn(8, 3, requires_grad=True)
        target = -2 * r.detach()
        optimizer.zero_grad()
        loss = force_loss(model, r, target)
        loss.backward()
        ref = force_loss(model.reference, r, target)
        (want,) = torch.autograd.grad(ref, model.inp.weight)
        same.append(torch.allclose(loss, ref) and torch.allclose(model.inp.weight.grad, want, rtol=1e-3, atol=1e-6))
        optimizer.step()
    return same


def verify(same):
    assert not any(same)


TRUTH = Truth(
    fault="backward uses a tensor kept on ctx without a graph (not save_for_backward of the input), so the second derivative through x is lost",
    names=("SquaredReLU",),
    repair=("ctx.save_for_backward(x)", "return grad_output * 2 * ctx.saved_tensors[0].clamp(min=0)"),
)
