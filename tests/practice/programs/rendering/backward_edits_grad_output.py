"""Differentiable rendering: a custom clamp edits grad_output in place, which also changes the gradient of the other branch of the sum."""

import torch
from torch import nn

from tests.practice.truth import Truth


SLACK = 0.05


class ClampThroughEdge(torch.autograd.Function):
    """Clamp that lets the gradient pass a little outside of the range."""

    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad = grad_output  # cause
        grad[(x < ctx.low - SLACK) | (x > ctx.high + SLACK)] = 0  # also
        return grad, None, None


class Splats(nn.Module):
    """Gaussian blobs on a line of pixels, over a learnt background."""

    def __init__(self, n, pixels):
        super().__init__()
        self.centre = nn.Parameter(torch.linspace(0, 1, n))
        self.colour = nn.Parameter(torch.linspace(-0.6, 1.5, n))
        self.background = nn.Parameter(torch.full((pixels,), -2.0))
        self.register_buffer("grid", torch.linspace(0, 1, pixels))

    def forward(self):
        behind = torch.sigmoid(self.background)
        weight = torch.exp(-(((self.grid - self.centre[:, None]) / 0.1) ** 2))
        blobs = ClampThroughEdge.apply((self.colour[:, None] * weight).sum(0), 0.0, 1.0)
        return behind + blobs


def run():
    torch.manual_seed(0)
    scene = Splats(5, 24)
    optimizer = torch.optim.Adam(scene.parameters(), lr=1e-2)
    photo = 0.2 + 0.6 * torch.rand(24)
    wrong = []
    for _ in range(4):
        image = scene()
        loss = (image - photo).square().mean()
        optimizer.zero_grad()
        loss.backward()
        behind = torch.sigmoid(scene.background.detach())
        analytic = 2 * (image.detach() - photo) / photo.numel() * behind * (1 - behind)
        wrong.append(int((scene.background.grad - analytic).abs().gt(1e-6).sum()))
        optimizer.step()
    return wrong


def verify(outcome):
    assert max(outcome) > 0


TRUTH = Truth(
    fault="grad_output is shared with the background's branch; writing zeros into it robs the background of its gradient",
    names=("background",),
    repair=("grad = grad_output.clone()",),
)
