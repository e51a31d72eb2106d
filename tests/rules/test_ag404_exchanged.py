"""AG404: a group of the optimizer that got another parameter in the place of the model's."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Cloud(nn.Module):
    def __init__(self):
        super().__init__()
        self.colour = nn.Parameter(torch.rand(4))
        self.opacity = nn.Parameter(torch.rand(4))

    def forward(self, x):
        return (x * self.opacity.sigmoid() * self.colour).sum()


def by_data(cloud, new):
    cloud.opacity.data = new.data.clone()  # Copied.


def by_copy(cloud, new):
    with torch.no_grad():
        cloud.opacity.copy_(new)  # Copied.


def as_parameter(cloud, new):
    cloud.opacity = new


def reset(give):
    def program():
        cloud = Cloud()
        optimizer = torch.optim.Adam([{"params": [cloud.colour]}, {"params": [cloud.opacity]}], lr=0.01)
        for at in range(4):
            trained(optimizer, cloud(X))
            if at == 1:
                new = nn.Parameter(torch.full_like(cloud.opacity, -2.0))
                state = optimizer.state.pop(cloud.opacity)
                optimizer.param_groups[1]["params"][0] = new
                optimizer.state[new] = {name: torch.zeros_like(value) for name, value in state.items()}
                give(cloud, new)

    return program


@pytest.mark.parametrize("give", [by_data, by_copy])
def test_values_that_are_copied_and_a_parameter_that_is_not_given(give):
    """The model goes on with its own parameter, and the optimizer steps the other one."""
    diagnosed(reset(give), "AG404", "# Copied.", "opacity", "in its place", severity="warning", where=give)


def test_parameters_that_are_given_to_both():
    """Given to the model; or left in the group, and its values overwritten."""

    def overwritten():
        cloud = Cloud()
        optimizer = torch.optim.Adam(cloud.parameters(), lr=0.01)
        for at in range(4):
            trained(optimizer, cloud(X))
            if at == 1:
                cloud.opacity.data.fill_(-2.0)
                optimizer.state.pop(cloud.opacity)

    calm(reset(as_parameter), overwritten)
