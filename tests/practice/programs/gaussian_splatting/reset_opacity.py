"""3D Gaussian splatting: after the opacity reset the optimizer holds another parameter than the model draws with."""

import torch
from torch import nn

from tests.practice.truth import Truth


def inverse_sigmoid(x):
    return torch.log(x / (1 - x))


class GaussianModel:
    def __init__(self, n):
        self._xyz = nn.Parameter(torch.rand(n, 2) * 2 - 1)
        self._rgb = nn.Parameter(torch.rand(n, 3))
        self._scaling = nn.Parameter(torch.full((n, 1), -1.5))
        self._opacity = nn.Parameter(inverse_sigmoid(0.3 * torch.ones(n, 1)))

    @property
    def get_opacity(self):
        return torch.sigmoid(self._opacity)

    def training_setup(self):
        groups = [
            {"params": [self._xyz], "lr": 1e-2, "name": "xyz"},
            {"params": [self._rgb], "lr": 1e-2, "name": "rgb"},
            {"params": [self._scaling], "lr": 5e-3, "name": "scaling"},
            {"params": [self._opacity], "lr": 5e-2, "name": "opacity"},
        ]
        self.optimizer = torch.optim.Adam(groups, lr=0.0, eps=1e-15)

    def replace_tensor_to_optimizer(self, tensor, name):
        optimizable_tensors = {}
        for group in self.optimizer.param_groups:
            if group["name"] == name:
                stored_state = self.optimizer.state.pop(group["params"][0])
                stored_state["exp_avg"] = torch.zeros_like(tensor)
                stored_state["exp_avg_sq"] = torch.zeros_like(tensor)
                group["params"][0] = nn.Parameter(tensor.requires_grad_(True))
                self.optimizer.state[group["params"][0]] = stored_state
                optimizable_tensors[name] = group["params"][0]
        return optimizable_tensors

    def reset_opacity(self):
        opacities_new = inverse_sigmoid(self.get_opacity.detach().clamp(max=0.01))
        optimizable_tensors = self.replace_tensor_to_optimizer(opacities_new, "opacity")
        self._opacity.data = optimizable_tensors["opacity"].data.clone()  # cause


def render(pc, grid):
    """Isotropic splats, blended in the order of their index."""
    d2 = ((grid[:, None] - pc._xyz[None]) ** 2).sum(-1)
    alpha = pc.get_opacity.T * torch.exp(-0.5 * d2 / torch.exp(pc._scaling.T) ** 2)
    alpha = alpha.clamp(max=0.99)
    through = torch.cumprod(1 - alpha, dim=1)
    weight = alpha * torch.cat((torch.ones_like(through[:, :1]), through[:, :-1]), 1)
    return weight @ pc._rgb


def training(iterations=6, opacity_reset_interval=3):
    axis = torch.linspace(-1, 1, 8)
    grid = torch.cartesian_prod(axis, axis)
    gt_image = torch.stack((grid[:, 0].abs(), grid[:, 1].abs(), torch.full((64,), 0.5)), 1)
    gaussians = GaussianModel(12)
    gaussians.training_setup()
    after_reset = None
    for iteration in range(1, iterations + 1):
        loss = (render(gaussians, grid) - gt_image).abs().mean()
        loss.backward()
        with torch.no_grad():
            gaussians.optimizer.step()
            gaussians.optimizer.zero_grad(set_to_none=True)
        if iteration == opacity_reset_interval:
            gaussians.reset_opacity()
            after_reset = gaussians._opacity.detach().clone()
    return after_reset, gaussians._opacity.detach().clone()


def run():
    torch.manual_seed(0)
    return training()


def verify(outcome):
    assert torch.equal(*outcome)


TRUTH = Truth(
    fault="the new opacity parameter of the optimizer never becomes the model's: the reset opacity stands still",
    names=("opacity",),
    repair=('self._opacity = optimizable_tensors["opacity"]',),
)
