"""Gaussian splatting: the Gaussians are re-sorted in place by depth; Adam's moments stay where they were."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class GaussianModel(nn.Module):
    def __init__(self, n):
        super().__init__()
        self._xyz = nn.Parameter(torch.randn(n, 3))
        self._features = nn.Parameter(torch.rand(n, 3))
        self._opacity = nn.Parameter(torch.zeros(n, 1))
        self._scaling = nn.Parameter(torch.full((n, 1), -1.0))

    def training_setup(self):
        self.optimizer = torch.optim.Adam(
            [
                {"params": [self._xyz], "lr": 1e-2, "name": "xyz"},
                {"params": [self._features], "lr": 2.5e-3, "name": "f_dc"},
                {"params": [self._opacity], "lr": 5e-2, "name": "opacity"},
                {"params": [self._scaling], "lr": 5e-3, "name": "scaling"},
            ],
            eps=1e-15,
        )

    @torch.no_grad()
    def reorder(self):
        """Depth order, for coherent memory access of the rasteriser."""
        order = self._xyz[:, 2].argsort()
        for group in self.optimizer.param_groups:
            (p,) = group["params"]
            p.copy_(p[order])  # cause
        return order


def render(gaussians, pixels):
    d2 = (pixels[:, None] - gaussians._xyz[None, :, :2]).pow(2).sum(-1)
    alpha = gaussians._opacity.sigmoid().T * torch.exp(-d2 / gaussians._scaling.exp().T)
    front = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha[:, :-1]], 1), 1)
    return (alpha * front) @ gaussians._features


def run():
    torch.manual_seed(0)
    gaussians = GaussianModel(12)
    gaussians.training_setup()
    pixels = torch.rand(40, 2) * 4 - 2
    image = pixels.cos().sum(1, keepdim=True).sigmoid().repeat(1, 3)
    order = moments = None
    for iteration in range(1, 5):
        loss = (render(gaussians, pixels) - image).abs().mean()
        loss.backward()
        gaussians.optimizer.step()
        gaussians.optimizer.zero_grad(set_to_none=True)
        if iteration == 2:
            kept = gaussians.optimizer.state[gaussians._features]["exp_avg"].clone()
            order = gaussians.reorder()
            moments = gaussians.optimizer.state[gaussians._features]["exp_avg"].clone()
    return kept, moments, order


def verify(outcome):
    kept, moments, order = outcome
    assert not torch.equal(order, torch.arange(len(order)))
    assert not torch.equal(moments, kept[order])


TRUTH = Truth(
    fault="the rows of the parameters are permuted but not those of exp_avg and exp_avg_sq: each Gaussian goes on with another's moments",
    names=("exp_avg",),
    repair=(
        "p.copy_(p[order])\nfor key in ('exp_avg', 'exp_avg_sq'):\n    self.optimizer.state[p][key].copy_(self.optimizer.state[p][key][order])",
    ),
)
