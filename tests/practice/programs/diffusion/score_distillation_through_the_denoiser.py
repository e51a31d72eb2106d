"""Score distillation: the predicted noise is meant to be a constant, and is computed with a graph."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    denoiser = nn.Sequential(nn.Linear(4, 16), nn.SiLU(), nn.Linear(16, 4)).requires_grad_(False)
    render = nn.Linear(2, 4)
    opt = torch.optim.Adam(render.parameters(), lr=1e-2)
    pose, noise = torch.randn(8, 2), torch.randn(8, 4)
    image = render(pose)
    predicted = denoiser(image + 0.3 * noise)  # cause
    direction = predicted - noise
    loss = (direction * image).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    wanted = direction.detach().T @ pose / len(pose)
    opt.step()
    return (render.weight.grad - wanted).abs().max().item()


def verify(out):
    assert out > 1e-3


TRUTH = Truth(
    fault="the direction is differentiated through the denoiser",
    repair=("with torch.no_grad():\n    predicted = denoiser(image + 0.3 * noise)",),
)
