"""AG206: sums by index of which one term is kept for each place."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
SEGMENTS = torch.tensor([0, 0, 1, 1, 1, 2])


def trained(pooled):
    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            pooled(net(X)).pow(2).mean().backward()
            optimizer.step()

    return program


def augmented(h):
    out = torch.zeros(3, 2)
    out[SEGMENTS] += h  # Lost.
    return out


def written_out(h):
    out = torch.zeros(3, 2)
    out[SEGMENTS] = out[SEGMENTS] + h  # Lost.
    return out


@pytest.mark.parametrize("pooled", [augmented, written_out])
def test_more_sums_than_places(pooled):
    """Some must go to the same place: told without reading a value."""
    diagnosed(trained(pooled), "AG206", "Lost.", "6 sums for 3", "index_add_", severity="warning", where=pooled)


class Gather(torch.autograd.Function):
    """Rows of a table."""

    @staticmethod
    def forward(ctx, table, index):
        ctx.save_for_backward(index)
        ctx.rows = len(table)
        return table[index]

    @staticmethod
    def backward(ctx, grad):
        (index,) = ctx.saved_tensors
        table_grad = grad.new_zeros(ctx.rows, grad.shape[1])
        table_grad[index] += grad
        return table_grad, None


def test_in_a_backward():
    """The gradient of a table, of which a custom backward assigns the sums."""
    diagnosed(
        trained(lambda h: Gather.apply(h[:3], SEGMENTS)),
        "AG206",
        "table_grad[index] += grad",
        "Gather.backward",
        "6 sums for 3",
        severity="warning",
        where=Gather.backward,
    )


def added(h):
    return torch.zeros(3, 2).index_add(0, SEGMENTS, h)


def permuted(h):
    out = torch.zeros(6, 2)
    out[torch.tensor([5, 3, 1, 0, 2, 4])] += h
    return out


def masked(h):
    out = torch.zeros(6, 2)
    out[X[:, 0] > 0] += h[X[:, 0] > 0]
    return out


def last_of_each(h):
    out = torch.zeros(3, 2)
    out[SEGMENTS] = h
    return out


@pytest.mark.parametrize("pooled", [added, permuted, masked, last_of_each])
def test_indices_that_may_be_meant(pooled):
    """Added up, one for each place, a mask, or values that replace others on purpose."""
    calm(trained(pooled))
