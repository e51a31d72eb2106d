"""An activation that works in place says so by mark_dirty, and keeps its own output for the backward."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class InPlaceLeaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        x.mul_(torch.where(x > 0, 1.0, slope))
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.slope = slope
        return x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * torch.where(y > 0, 1.0, ctx.slope), None


class Bottleneck(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv1d(width, width, 1, bias=False), nn.GroupNorm(2, width)
        self.conv2 = nn.Conv1d(width, width, 3, padding=1)

    def forward(self, x):
        h = InPlaceLeaky.apply(self.norm1(self.conv1(x)), 0.1)
        return InPlaceLeaky.apply(self.conv2(h) + x, 0.1)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv1d(2, 8, 3), Bottleneck(8), Bottleneck(8), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 3)
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        x, y = torch.randn(4, 2, 10), torch.randint(3, (4,))
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    x = torch.randn(5, dtype=torch.double, requires_grad=True)
    exact = torch.autograd.gradcheck(lambda t: InPlaceLeaky.apply(t * 1.0, 0.1), (x,))
    return net, losses, exact


TRUTH = Truth()


def verify(out):
    net, losses, exact = out
    assert exact and all(0 < loss < 100 for loss in losses)
    assert all(p.grad.abs().sum() > 0 for p in net.parameters())
