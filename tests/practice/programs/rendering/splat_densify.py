"""Gaussian splatting with densification: parameters are replaced in mid-training and Adam's state is cut and padded along: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

NAMES = ("xy", "log_scale", "colour", "logit_opacity")


class GaussianModel:
    def __init__(self, n=10):
        self.xy = nn.Parameter(torch.rand(n, 2) * 1.6 - 0.8)
        self.log_scale = nn.Parameter(torch.full((n, 1), -1.2))
        self.colour = nn.Parameter(torch.zeros(n, 3))
        self.logit_opacity = nn.Parameter(torch.full((n, 1), -1.0))
        rates = {"xy": 1e-2, "log_scale": 1e-2, "colour": 5e-2, "logit_opacity": 5e-2}
        self.optimizer = torch.optim.Adam(
            [{"params": [getattr(self, k)], "lr": rates[k], "name": k} for k in NAMES], eps=1e-15
        )
        self.accumulated = torch.zeros(n)

    def render(self, grid):
        d = (grid.unsqueeze(0) - self.xy.view(-1, 1, 1, 2)).square().sum(-1)
        alpha = self.logit_opacity.sigmoid().view(-1, 1, 1) * torch.exp(
            -0.5 * d / (2 * self.log_scale).exp().view(-1, 1, 1)
        )
        through = torch.cumprod(torch.cat([torch.ones_like(alpha[:1]), 1 - alpha]), 0)[:-1]
        return torch.einsum("nhw,nc->hwc", alpha * through, self.colour.sigmoid())

    def _swap(self, change):
        """Replace each parameter and its moments by change(tensor, is_state)."""
        for group in self.optimizer.param_groups:
            old = group["params"][0]
            state = self.optimizer.state.pop(old, None)
            new = nn.Parameter(change(group["name"], old.detach(), False))
            if state is not None:
                for key in ("exp_avg", "exp_avg_sq"):
                    state[key] = change(group["name"], state[key], True)
                self.optimizer.state[new] = state
            group["params"][0] = new
            setattr(self, group["name"], new)

    def densify_and_prune(self, threshold, min_opacity=0.05):
        busy = self.accumulated > threshold

        def grow(name, t, is_state):
            extra = torch.zeros_like(t[busy]) if is_state else t[busy].clone()
            if name == "xy" and not is_state:
                extra += 0.05 * torch.randn_like(extra)
            return torch.cat([t, extra])

        self._swap(grow)
        keep = (self.logit_opacity.detach().sigmoid() > min_opacity).squeeze(1)
        self._swap(lambda name, t, is_state: t[keep].clone())
        self.accumulated = torch.zeros(len(self.xy))


def scene(size=10):
    axis = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    grid = torch.stack([xx, yy], -1)
    return grid, (grid.sum(-1, keepdim=True) > 0).float() * torch.tensor([0.9, 0.4, 0.1])


def run():
    torch.manual_seed(0)
    model = GaussianModel()
    grid, target = scene()
    sizes, moved = [], []
    for step in range(6):
        before = {k: getattr(model, k).detach().clone() for k in NAMES}
        loss = F.l1_loss(model.render(grid), target)
        loss.backward()
        with torch.no_grad():
            model.accumulated += model.xy.grad.norm(dim=-1)
            model.optimizer.step()
            model.optimizer.zero_grad(set_to_none=True)
        moved.append(all(not torch.equal(before[k], getattr(model, k)) for k in NAMES))
        if step in (1, 3):
            model.densify_and_prune(model.accumulated.median().item())
        sizes.append(len(model.xy))
    shapes = {
        g["name"]: model.optimizer.state[g["params"][0]]["exp_avg"].shape == g["params"][0].shape
        for g in model.optimizer.param_groups
    }
    return sizes, moved, shapes, len(model.optimizer.state)


def verify(outcome):
    sizes, moved, shapes, states = outcome
    assert sizes[-1] > sizes[0] and all(moved) and all(shapes.values()) and states == 4


TRUTH = Truth()
