"""AG101: weights that are written into a module from a vector, which gets no gradient."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from .programs import diagnosed
from .twins import calm


def optimised(apply, *, seed=0):
    """A flat vector is in the optimizer; ``apply`` computes with its values."""
    net = nn.Linear(4, 2)
    theta = parameters_to_vector(net.parameters()).detach().requires_grad_()
    optimizer = torch.optim.Adam([theta], lr=1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        apply(net, theta, torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()


def written(net, theta, x):
    vector_to_parameters(theta, net.parameters())
    return net(x)


def called(net, theta, x):
    return torch.func.functional_call(net, {"weight": theta[:8].view(2, 4), "bias": theta[8:]}, (x,))


def test_a_vector_that_is_copied_into_the_parameters():
    """The call that writes it cuts the vector off, in each step anew; functional_call computes with it."""
    diagnosed(
        lambda: optimised(written), "AG101", "vector_to_parameters(theta", "theta", severity="warning", where=written
    )
    calm(lambda: optimised(called))
