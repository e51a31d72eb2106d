"""Astrometry: a custom Function keeps its input as ctx.x; the caller re-uses that buffer before the backward, which then reads other numbers."""

import torch
from torch import nn

from tests.practice.truth import Truth


class PSFResponse(torch.autograd.Function):
    """Moffat profile exp(-a * log(1 + r2)) with a gradient by hand."""

    @staticmethod
    def forward(ctx, r2, a):
        ctx.r2, ctx.a = r2, a  # cause
        return torch.exp(-a * torch.log1p(r2))

    @staticmethod
    def backward(ctx, grad):
        value = torch.exp(-ctx.a * torch.log1p(ctx.r2))
        d_r2 = -ctx.a * value / (1 + ctx.r2)
        d_a = -(value * torch.log1p(ctx.r2))
        return grad * d_r2, (grad * d_a).sum()


class StarField(nn.Module):
    def __init__(self, exposures=3, pixels=12):
        super().__init__()
        self.flux = nn.Parameter(torch.ones(exposures))
        self.slope = nn.Parameter(torch.tensor(1.5))
        self.register_buffer("grid", torch.linspace(-2, 2, pixels))
        self.scratch = torch.empty(pixels)

    def render(self, seeing):
        """One buffer for all exposures: there are thousands of them."""
        torch.div(self.grid, seeing, out=self.scratch)  # also
        self.scratch.square_()
        return PSFResponse.apply(self.scratch, self.slope)

    def forward(self, seeings):
        return torch.stack([f * self.render(s) for f, s in zip(self.flux, seeings)])


def slope_gradient(scene, seeings, sky):
    """By central differences."""
    with torch.no_grad():
        values = []
        for sign in (1, -1):
            scene.slope += sign * 1e-2
            values.append((scene(seeings) - sky).square().mean().item())
            scene.slope -= sign * 1e-2
    return (values[0] - values[1]) / 2e-2


def run():
    torch.manual_seed(0)
    scene = StarField()
    seeings = torch.tensor([0.5, 1.0, 2.0])
    sky = torch.rand(3, 12)
    optimizer = torch.optim.SGD(scene.parameters(), lr=0.05)
    pairs = []
    for _ in range(3):
        expected = slope_gradient(scene, seeings, sky)
        loss = (scene(seeings) - sky).square().mean()
        optimizer.zero_grad()
        loss.backward()
        pairs.append((expected, scene.slope.grad.item()))
        optimizer.step()
    return pairs


def verify(outcome):
    assert all(abs(a - b) > 0.1 * abs(a) for a, b in outcome)


TRUTH = Truth(
    fault="ctx.r2 is the scratch buffer itself: the backward of every exposure sees the last one's radii, with no version check",
    names=("r2",),
    repair=("ctx.r2, ctx.a = r2.clone(), a",),
)
