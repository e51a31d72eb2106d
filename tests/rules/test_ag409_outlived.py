"""AG409: weights are put back, and the state that was saved beside them is not."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def steps(net, optimizer, count):
    for _ in range(count):
        trained(optimizer, net(X).pow(2).mean())


def search(*, before=0, saves=True, loads=False, renews=False, clears=False, after=2, kind=torch.optim.Adam):
    """Try some steps, take them back, and train."""
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    optimizer = kind(net.parameters(), lr=0.01)
    steps(net, optimizer, before)
    weights = copy.deepcopy(net.state_dict())
    state = copy.deepcopy(optimizer.state_dict()) if saves else None
    steps(net, optimizer, 3)
    net.load_state_dict(weights)
    if loads:
        optimizer.load_state_dict(state)
    if renews:
        optimizer = kind(net.parameters(), lr=0.01)
    if clears:
        optimizer.state.clear()
    steps(net, optimizer, after)


def test_state_of_steps_that_were_taken_back():
    """The moments are those of the search; loaded, cleared or made anew they are not."""
    for before in (0, 2):
        diagnosed(
            lambda before=before: search(before=before), "AG409", "net.load_state_dict(weights)",
            "before 3 steps of Adam", "exp_avg", "optimizer.load_state_dict(...)", severity="warning", where=search,
        )  # fmt: skip
    calm(lambda: search(loads=True), lambda: search(before=2, loads=True))
    calm(lambda: search(renews=True), lambda: search(clears=True))


def test_state_that_nobody_saved():
    """Moments that go on over several tasks, as those of Reptile's inner loop, are meant to."""
    calm(lambda: search(saves=False), lambda: search(before=2, saves=False))


def test_no_step_follows():
    """The best weights are put back to be used, not to be trained."""
    calm(lambda: search(after=0))


def test_no_state_to_put_back():
    """Plain SGD has none."""
    calm(lambda: search(kind=torch.optim.SGD))


def test_state_saved_at_another_moment():
    """A checkpoint that is written later holds the state of its own weights."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        slow = copy.deepcopy(net.state_dict())
        for _ in range(2):
            steps(net, optimizer, 2)
            copy.deepcopy(optimizer.state_dict())
            net.load_state_dict(slow)

    calm(program)
