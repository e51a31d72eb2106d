"""AG306: hooks on parameters that are replaced afterwards."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def fit(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, F.cross_entropy(net(X), Y))


def masked(net, *, before, anew):
    """A mask on the gradient of a weight, which is pruned: in place, or by a new Parameter."""
    weight = net[0].weight
    mask = (weight.abs() > 0.2).float()
    if before:
        weight.register_hook(lambda grad: grad * mask)
    if anew:
        net[0].weight = nn.Parameter(weight.detach() * mask)
    else:
        with torch.no_grad():
            weight.mul_(mask)
    if not before:
        net[0].weight.register_hook(lambda grad: grad * mask)
    fit(net)


def test_mask_that_stays_on_the_old_weight():
    """The replacement comes first; registered after it, or with the weight modified in place, the hook runs."""
    diagnosed(
        lambda: masked(network(), before=True, anew=True),
        "AG306",
        "net[0].weight = nn.Parameter",
        "0.weight",
        severity="warning",
        where=masked,
    )
    calm(
        lambda: masked(network(), before=False, anew=True),
        lambda: masked(network(), before=True, anew=False),
    )


def test_hook_that_served_its_model():
    """A model with a hook has been trained, and another one begins with its values: the hook is not missed."""

    def program():
        old, new = network(), network()
        old[0].weight.register_hook(lambda grad: grad.clamp(-1, 1))
        fit(old)
        new[0].weight = nn.Parameter(old[0].weight.detach().clone())
        del old
        fit(new)

    calm(program)
