"""AG409: rows of a parameter that change places without their optimizer state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from .programs import diagnosed, inspected, trained
from .twins import calm

Rearrange = Callable[[nn.Parameter, torch.optim.Optimizer], Any]
WEIGHT = torch.arange(6.0)[:, None] + 1


def program(rearrange: Rearrange, make: Any = torch.optim.Adam, steps: int = 2) -> Callable[[], None]:
    """Train the rows of a table, and rearrange them after so many of four steps."""

    def run() -> None:
        table = nn.Parameter(torch.randn(6, 2))
        optimizer = make([table], lr=0.1)
        for step in range(4):
            if step == steps:
                rearrange(table, optimizer)
            trained(optimizer, (table * WEIGHT).pow(2).sum())

    return run


@torch.no_grad()
def copied(table, _):
    order = table[:, 0].argsort()
    table.copy_(table[order])  # Sorted.


@torch.no_grad()
def assigned(table, _):
    table[:] = table[torch.randperm(6)]  # Sorted.


def new_data(table, _):
    order = table.detach()[:, 0].argsort()
    table.data = table.data[order]  # Sorted.


@torch.no_grad()
def selected(table, _):
    order = table[:, 0].argsort()
    table.data.copy_(table.index_select(0, order).clone())  # Sorted.


@pytest.mark.parametrize("rearrange", [copied, assigned, new_data, selected])
def test_rows_move_and_their_moments_do_not(rearrange):
    """Rows that are sorted or permuted in place are told of, by whatever call they are written back."""
    diagnosed(program(rearrange), "AG409", "# Sorted.", "exp_avg_sq", "table", severity="warning", where=rearrange)


def test_momentum_of_sgd():
    """The momentum of SGD is state as well."""
    found = inspected(program(copied, lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9))).findings
    assert [finding.rule for finding in found] == ["AG409"]
    assert "momentum_buffer" in found[0].message


@torch.no_grad()
def both_by_index(table, optimizer):
    order = table[:, 0].argsort()
    table.copy_(table[order])
    for key in ("exp_avg", "exp_avg_sq"):
        optimizer.state[table][key].copy_(optimizer.state[table][key][order])


@torch.no_grad()
def both_assigned(table, optimizer):
    order = table[:, 0].argsort()
    table.copy_(table[order])
    for key in ("exp_avg", "exp_avg_sq"):
        optimizer.state[table][key] = optimizer.state[table][key][order]


def both_assigned_again_and_again(table, optimizer):
    both_assigned(table, optimizer)
    both_assigned(table, optimizer)


@torch.no_grad()
def zeroed(table, optimizer):
    table.copy_(table[torch.randperm(6)])
    for key in ("exp_avg", "exp_avg_sq"):
        optimizer.state[table][key].zero_()


@torch.no_grad()
def dropped(table, optimizer):
    table.copy_(table[torch.randperm(6)])
    optimizer.state.clear()


@torch.no_grad()
def read_in_order(table, _):
    table[table[:, 0].argsort()].sum()


@torch.no_grad()
def some_rows_replaced(table, _):
    dead = torch.tensor([0, 3])
    table[dead] = table[dead + 1] + 0.01 * torch.randn(2, 2)


@torch.no_grad()
def of_another(table, _):
    table.copy_(torch.randn(6, 2)[torch.randperm(6)])


@torch.no_grad()
def clamped(table, _):
    table.copy_(table.clamp(-1, 1))


@pytest.mark.parametrize(
    "rearrange",
    [
        both_by_index,
        both_assigned,
        both_assigned_again_and_again,
        zeroed,
        dropped,
        read_in_order,
        some_rows_replaced,
        of_another,
        clamped,
    ],
)
def test_state_that_follows(rearrange):
    """Nothing is said where the state moves too, or begins again, nor of writes that change no order."""
    calm(program(rearrange))


def test_no_state_yet_or_none_at_all():
    """Nothing is said before the first step, nor of an optimizer whose state has no rows."""
    calm(program(copied, steps=0), program(copied, torch.optim.SGD))


def test_state_moved_in_every_epoch():
    """Nothing is said where rows and state move together several times, and entries are made again each time."""

    def run() -> None:
        table = nn.Parameter(torch.randn(6, 2))
        optimizer = torch.optim.Adam([table], lr=0.1)
        for _ in range(3):
            trained(optimizer, (table * WEIGHT).pow(2).sum())
            both_assigned(table, optimizer)
            trained(optimizer, (table * WEIGHT).pow(2).sum())

    calm(run)
