"""AG104: backward through custom ops that have no autograd formula."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


@torch.library.custom_op("inspector_tests::doubled", mutates_args=())
def doubled(x: Tensor) -> Tensor:
    return x * 2


@torch.library.custom_op("inspector_tests::tripled", mutates_args=())
def tripled(x: Tensor) -> Tensor:
    return x * 3


tripled.register_autograd(lambda ctx, grad: grad * 3)


def training(op):
    """Steps of a net with an op between two layers."""

    def run():
        first, last = nn.Linear(4, 4), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
        for _ in range(2):
            spread = op(first(X))  # Between.
            optimizer.zero_grad()
            last(spread).mean().backward()
            optimizer.step()

    return run


def of_data():
    last = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(last.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        last(doubled(X)).mean().backward()
        optimizer.step()


def of_a_teacher():
    teacher, last = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD(last.parameters(), lr=0.1)
    for _ in range(2):
        with torch.no_grad():
            features = doubled(teacher(X))
        optimizer.zero_grad()
        last(features).mean().backward()
        optimizer.step()


def test_without_formula():
    """The call is named first, and what it is to be registered with."""
    finding = diagnosed(
        training(doubled),
        "AG104",
        "# Between.",
        "inspector_tests::doubled",
        "register_autograd",
        severity="error",
        where=training,
    )
    assert "doubled" in finding.subjects


def test_nothing_flows_back():
    """An op with a formula, of data, and of features that nothing is to train."""
    calm(training(tripled), of_data, of_a_teacher)
