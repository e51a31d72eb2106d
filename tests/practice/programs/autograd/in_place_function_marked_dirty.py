"""Custom in-place activation with mark_dirty, its output saved, a tensor hook and a detached statistic; all right."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from tests.practice.truth import Truth


class InPlaceLeaky(Function):
    """Invertible, so the output is all that has to be kept."""

    @staticmethod
    def forward(ctx, x, slope):
        ctx.mark_dirty(x)
        ctx.slope = slope
        x.masked_fill_(x.isnan(), 0.0)
        x.copy_(torch.where(x > 0, x, slope * x))
        ctx.save_for_backward(x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        grad = grad.clone()
        grad[y <= 0] *= ctx.slope
        return grad, None


class Block(nn.Module):
    def __init__(self, fin, fout):
        super().__init__()
        self.linear = nn.Linear(fin, fout)
        self.register_buffer("activity", torch.zeros(fout))

    def forward(self, x):
        y = InPlaceLeaky.apply(self.linear(x), 0.1)
        if self.training:
            self.activity.lerp_(y.detach().abs().mean(0), 0.1)
        return y


def build():
    return nn.Sequential(Block(6, 10), Block(10, 10), nn.Linear(10, 2))


def reference(model, x):
    for block in model[:-1]:
        x = F.leaky_relu(block.linear(x), 0.1)
    return model[-1](x)


def run():
    torch.manual_seed(0)
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    errors = []
    for _ in range(3):
        x = torch.randn(16, 6)
        y = (x.sum(1) > 0).long()
        true = torch.autograd.grad(F.cross_entropy(reference(model, x), y), list(model.parameters()))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        errors.append(max((p.grad - t).abs().max().item() for p, t in zip(model.parameters(), true)))
        optimizer.step()
    return errors, model[0].activity.min().item()


def verify(outcome):
    errors, activity = outcome
    assert max(errors) < 1e-6
    assert activity > 0


TRUTH = Truth()
