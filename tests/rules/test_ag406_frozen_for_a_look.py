"""AG406: a function freezes a part of the model to compute a gradient of something else, and leaves it frozen."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def mapped(body, head, *, restore):
    """A saliency map."""
    body.requires_grad_(False)  # not needed here
    image = X.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(head(body(image)).sum(), image)
    if restore:
        body.requires_grad_(True)
    return gradient


def training(look, *, rounds=4, first=1):
    body, head = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for i in range(rounds):
        trained(optimizer, head(body(X)).pow(2).mean())
        if i >= first:
            look(body, head)


def freeze(body):
    body.requires_grad_(False)


def sensitivity(body, head):
    image = X.clone().requires_grad_()
    return torch.autograd.grad(head(body(image)).sum(), image)


def test_a_map_that_leaves_a_part_frozen():
    """The steps since then do not update it; a map that puts requires_grad back is fine."""
    for first in (0, 1):
        diagnosed(
            lambda first=first: training(lambda b, h: mapped(b, h, restore=False), first=first), "AG406",
            "# not needed here", "0.weight", "mapped", "optimizer", severity="warning", where=mapped,
        )  # fmt: skip
    calm(lambda: training(lambda b, h: mapped(b, h, restore=True)))


def test_what_the_training_freezes():
    """The loop freezes the body after some steps, and maps are computed since; or it does so at the last step."""

    def by_the_loop():
        body, head = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        for i in range(6):
            if i == 2:
                freeze(body)
            trained(optimizer, head(body(X)).pow(2).mean())
            sensitivity(body, head)

    calm(by_the_loop, lambda: training(lambda b, h: mapped(b, h, restore=False), first=3))
