"""AG301: the derivative by an input that a cut has taken out of the graph, where None is allowed."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.rand(8, 1, generator=torch.Generator().manual_seed(1))


def slope(u, t):
    (grad,) = torch.autograd.grad(u.sum(), t, create_graph=True, allow_unused=True)
    return torch.zeros_like(t) if grad is None else grad


def trained_on(features_of):
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        t = torch.rand(8, 1, requires_grad=True)
        u = net(torch.cat([X, features_of(t)], 1))
        optimizer.zero_grad()
        ((slope(u, t) + u).pow(2).mean()).backward()
        optimizer.step()


def detached(t):
    return (t.detach() - 0.5) / 0.3  # Cut.


def through_numpy(t):
    return torch.as_tensor(t.detach().numpy() * 2)  # Cut.


@torch.no_grad()
def unrecorded(t):
    return t * 2


def test_inputs_that_are_cut_off():
    """The line that cuts comes first; without a cut there is a derivative."""
    for features_of in (detached, through_numpy):
        diagnosed(
            lambda features_of=features_of: trained_on(features_of),
            "AG301", "# Cut.", "returns None", severity="warning", where=features_of,
        )  # fmt: skip
    diagnosed(
        lambda: trained_on(unrecorded), "AG301", "return t * 2", "torch.mul()", severity="warning", where=unrecorded
    )
    calm(lambda: trained_on(lambda t: t * 2))


def test_inputs_of_no_influence():
    """What is compared, or not used, has no derivative at all; a task need not train the weights of another one."""
    calm(lambda: trained_on(lambda t: (t > 0.5).float()))
    calm(lambda: trained_on(lambda t: X))

    def tasks():
        trunk, head = nn.Linear(2, 2), nn.Linear(2, 1)
        optimizer = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.1)
        h = trunk(torch.ones(3, 2))
        torch.autograd.grad(head(h.detach()).sum(), [*trunk.parameters(), *head.parameters()], allow_unused=True)
        head(h).sum().backward()
        optimizer.step()

    calm(tasks)
