"""2-D Gaussian splatting: opacities start above one and are clamped, so they never get a gradient."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Splats(nn.Module):
    def __init__(self, n=12, initial_opacity=1.5):
        super().__init__()
        self.xy = nn.Parameter(torch.rand(n, 2) * 1.6 - 0.8)
        self.log_scale = nn.Parameter(torch.full((n,), -1.5))
        self.colour = nn.Parameter(torch.randn(n, 3) * 0.1)
        # start opaque, the optimizer may fade what is not needed
        self.opacity = nn.Parameter(torch.full((n,), initial_opacity))  # also

    def alphas(self, grid):
        dist = (grid.unsqueeze(0) - self.xy.view(-1, 1, 1, 2)).square().sum(-1)
        falloff = torch.exp(-0.5 * dist / (2 * self.log_scale).exp().view(-1, 1, 1))
        return self.opacity.clamp(0, 1).view(-1, 1, 1) * falloff  # cause

    def render(self, grid, background):
        alpha = self.alphas(grid)
        ones = torch.ones_like(alpha[:1])
        transmittance = torch.cumprod(torch.cat([ones, 1 - alpha + 1e-6]), 0)
        weights = alpha * transmittance[:-1]
        image = torch.einsum("nhw,nc->hwc", weights, self.colour.sigmoid())
        return image + transmittance[-1].unsqueeze(-1) * background


def pixel_grid(size=12):
    axis = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    return torch.stack([xx, yy], -1)


def target_image(grid):
    disc = (grid.square().sum(-1) < 0.4).float().unsqueeze(-1)
    return disc * torch.tensor([0.9, 0.2, 0.1]) + (1 - disc) * torch.tensor([0.1, 0.1, 0.3])


def make_optimizer(model):
    rates = {"xy": 1e-2, "log_scale": 5e-3, "colour": 2e-2, "opacity": 5e-2}
    return torch.optim.Adam(
        [{"params": [getattr(model, k)], "lr": lr, "name": k} for k, lr in rates.items()], eps=1e-15
    )


def run():
    torch.manual_seed(0)
    model, grid = Splats(), pixel_grid()
    target = target_image(grid)
    optimizer = make_optimizer(model)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    losses = []
    for _ in range(4):
        image = model.render(grid, torch.zeros(3))
        loss = F.l1_loss(image, target) + 0.2 * F.mse_loss(image, target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {n: torch.equal(before[n], p.detach()) for n, p in model.named_parameters()}, model.opacity.grad


def verify(outcome):
    _, still, grad = outcome
    assert grad.eq(0).all()
    assert [name for name, same in still.items() if same] == ["opacity"]


TRUTH = Truth(
    fault="clamp has no gradient outside its range and every opacity starts outside",
    values=True,
    names=("opacity", "clamp"),
    repair=("return self.opacity.sigmoid().view(-1, 1, 1) * falloff",),
)
