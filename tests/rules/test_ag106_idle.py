"""AG106: an optimizer was given what does not require grad."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.rand(4, 3, generator=torch.Generator().manual_seed(1))


def painted(start, *, freeze=False):
    """An image is learned through a network."""
    network = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2))
    if freeze:
        network.requires_grad_(False)
    image = start()
    optimizer = torch.optim.Adam([image], lr=0.1)
    for _ in range(2):
        trained(optimizer, network(image).pow(2).mean())


def plain():
    return X.clone()  # made


def learned():
    return X.clone().requires_grad_()


def test_an_image_that_does_not_require_grad():
    """Backward runs, for the network's weights: the image is named, where it was made, what to call on it."""
    found = diagnosed(lambda: painted(plain), "AG106", "# made", "image", severity="warning", where=plain)
    assert "`image.requires_grad_()`" in found.fix
    assert any("torch.optim.Adam" in place.source for place in found.locations)


def test_an_image_before_a_frozen_network():
    """Backward raises: what the optimizer was given to learn comes first, not the network that is frozen on purpose."""
    found = diagnosed(lambda: painted(plain, freeze=True), "AG106", "# made", "image", severity="error", where=plain)
    assert found.subjects[0] == "image"
    assert "loss" in found.message
    assert any("torch.optim.Adam" in place.source for place in found.locations)


def test_a_model_frozen_under_its_optimizer():
    """All that is stepped is frozen, while an input requires grad: the line that froze it is named."""

    def program():
        network = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        network.requires_grad_(False)
        for _ in range(2):
            trained(optimizer, network(X.clone().requires_grad_()).pow(2).mean())

    found = diagnosed(program, "AG106", "requires_grad_(False)", "weight", "bias", severity="warning")
    assert "requires_grad_(True)" in found.fix


def test_optimizers_that_have_something_to_step():
    """An image that learns, and a frozen part with an optimizer beside one that learns."""

    def stages():
        body, head = nn.Linear(3, 4), nn.Linear(4, 1)
        body.requires_grad_(False)
        first, second = torch.optim.SGD(body.parameters(), lr=0.1), torch.optim.SGD(head.parameters(), lr=0.1)
        for _ in range(2):
            trained(second, head(body(X)).pow(2).mean())
            first.step()

    calm(lambda: painted(learned), lambda: painted(learned, freeze=True), stages)
