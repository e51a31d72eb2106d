"""AG303: points at which an image is sampled have no gradient where the nearest pixel is taken."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from .programs import diagnosed
from .twins import calm

POINTS = torch.rand(1, 3, 3, 4)


def sampled(mode, *, image_learns=False):
    """Two steps with a grid of a net's, and an image that is data or learns."""
    net, image = nn.Linear(4, 2), nn.Parameter(torch.randn(1, 1, 5, 5), requires_grad=image_learns)
    grid = net(POINTS) if not image_learns else POINTS[..., :2]
    learning = [image] if image_learns else [*net.parameters()]
    optimizer = torch.optim.SGD(learning, lr=0.1)
    F.grid_sample(image, grid, mode=mode, align_corners=True).pow(2).mean().backward()
    optimizer.step()


def test_grid_of_a_net():
    """Its parameters get zeros; bilinear sampling gives them a gradient."""

    def program():
        sampled("nearest")

    finding = diagnosed(program, "AG303", "F.grid_sample(", "nearest", severity="warning", where=sampled)
    assert any("net.weight" in name for name in finding.subjects)
    calm(lambda: sampled("bilinear"))


def test_image_that_learns():
    """The image itself does have a gradient at the pixels that are taken."""
    calm(lambda: sampled("nearest", image_learns=True))


def test_mode_by_position():
    """The mode counts wherever it stands among the arguments."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        torch.nn.functional.grid_sample(
            torch.ones(1, 1, 5, 5), net(POINTS), "nearest", align_corners=True
        ).mean().backward()
        optimizer.step()

    diagnosed(program, "AG303", "torch.nn.functional.grid_sample(", severity="warning")


def test_image_and_grid_of_one_net():
    """What learns through the image still learns: nothing is wrong enough for a warning."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        points = net(POINTS)
        F.grid_sample(points.permute(0, 3, 1, 2), points, mode="nearest", align_corners=True).pow(2).mean().backward()
        optimizer.step()

    calm(program)
