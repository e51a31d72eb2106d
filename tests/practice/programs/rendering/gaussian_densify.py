"""Rendering: densification makes new parameters and leaves the old ones in the optimizer."""

from dataclasses import dataclass

import torch
import torch.nn as nn
from tests.practice.truth import Truth


@dataclass
class OptimizationParams:
    iterations: int = 4
    position_lr: float = 1e-2
    feature_lr: float = 2e-2
    opacity_lr: float = 5e-2
    scaling_lr: float = 1e-2
    densify_at: int = 2
    densify_grad_threshold: float = 0.0


class GaussianModel:
    def __init__(self, n):
        self._xyz = nn.Parameter(torch.rand(n, 2) * 2 - 1)
        self._features = nn.Parameter(torch.rand(n, 3))
        self._opacity = nn.Parameter(torch.zeros(n, 1))
        self._scaling = nn.Parameter(torch.full((n, 1), -1.5))
        self.optimizer = None
        self.xyz_gradient_accum = torch.zeros(n, 1)
        self.denom = 0

    def training_setup(self, opt):
        groups = [
            {"params": [self._xyz], "lr": opt.position_lr, "name": "xyz"},
            {"params": [self._features], "lr": opt.feature_lr, "name": "features"},
            {"params": [self._opacity], "lr": opt.opacity_lr, "name": "opacity"},
            {"params": [self._scaling], "lr": opt.scaling_lr, "name": "scaling"},
        ]
        self.optimizer = torch.optim.Adam(groups, lr=0.0, eps=1e-15)

    def add_densification_stats(self):
        self.xyz_gradient_accum += self._xyz.grad.norm(dim=-1, keepdim=True)
        self.denom += 1

    def cat_tensors_to_optimizer(self, extra):
        fresh = {}
        for group in self.optimizer.param_groups:
            old = group["params"][0]
            new = extra[group["name"]]
            state = self.optimizer.state.pop(old, None)
            param = nn.Parameter(torch.cat([old.detach(), new], dim=0))  # also
            if state is not None:
                for key in ("exp_avg", "exp_avg_sq"):
                    state[key] = torch.cat([state[key], torch.zeros_like(new)], dim=0)
                self.optimizer.state[param] = state
            fresh[group["name"]] = param  # cause
        return fresh

    def densify_and_clone(self, threshold):
        grads = self.xyz_gradient_accum / max(self.denom, 1)
        selected = (grads > threshold).squeeze(1)
        extra = {
            "xyz": self._xyz.detach()[selected] + 0.01 * torch.randn(int(selected.sum()), 2),
            "features": self._features.detach()[selected],
            "opacity": self._opacity.detach()[selected],
            "scaling": self._scaling.detach()[selected] - 0.2,
        }
        fresh = self.cat_tensors_to_optimizer(extra)
        self._xyz, self._features = fresh["xyz"], fresh["features"]
        self._opacity, self._scaling = fresh["opacity"], fresh["scaling"]
        self.xyz_gradient_accum = torch.zeros(len(self._xyz), 1)
        self.denom = 0


def render(pc, size=12):
    axis = torch.linspace(-1, 1, size)
    grid = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), -1).view(-1, 1, 2)
    d2 = (grid - pc._xyz[None]).pow(2).sum(-1)
    weight = torch.sigmoid(pc._opacity).T * torch.exp(-0.5 * d2 / pc._scaling.exp().T.pow(2))
    return (weight @ pc._features).view(size, size, 3)


def ssim_like(a, b):
    mu_a, mu_b = a.mean((0, 1)), b.mean((0, 1))
    return ((2 * mu_a * mu_b + 1e-4) / (mu_a**2 + mu_b**2 + 1e-4)).mean()


def training(opt):
    target = torch.rand(12, 12, 3)
    gaussians = GaussianModel(10)
    gaussians.training_setup(opt)
    history = []
    for iteration in range(1, opt.iterations + 1):
        image = render(gaussians)
        loss = 0.8 * (image - target).abs().mean() + 0.2 * (1 - ssim_like(image, target))
        loss.backward()
        with torch.no_grad():
            gaussians.add_densification_stats()
            gaussians.optimizer.step()
            gaussians.optimizer.zero_grad(set_to_none=True)
            if iteration == opt.densify_at:
                gaussians.densify_and_clone(opt.densify_grad_threshold)
        history.append(gaussians._xyz.detach().clone())
    return history


def run():
    torch.manual_seed(0)
    return training(OptimizationParams())


def verify(history):
    assert len(history[1]) == 20
    assert torch.equal(history[2], history[1]) and torch.equal(history[3], history[2])


TRUTH = Truth(
    fault="group['params'][0] still holds the old tensors after densification: the new Gaussians are not optimized",
    names=("Adam",),
    repair=('fresh[group["name"]] = group["params"][0] = param',),
)
