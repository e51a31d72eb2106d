"""AG304: NaN that stand for missing values are data; what computes with them before the mask is the fault."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected, trained

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def labels():
    target = torch.randn(8, 2, generator=torch.Generator().manual_seed(2))
    target[::3, 0] = float("nan")
    return target


def multiplied(pred, target):
    known = ~torch.isnan(target)
    return ((pred - target).square() * known).sum() / known.sum()  # masked too late


def chosen(pred, target):
    known = torch.isfinite(target)
    error = F.mse_loss(pred, target, reduction="none")  # masked too late
    return torch.where(known, error, torch.zeros_like(error)).mean()


def indexed(pred, target):
    known = ~torch.isnan(target)
    return F.mse_loss(pred[known], target[known])


def filled(pred, target):
    known = ~torch.isnan(target)
    return ((pred - torch.nan_to_num(target)).square() * known).sum() / known.sum()


def fitted(loss, target):
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, loss(net(X), target))


@pytest.mark.parametrize("loss", [multiplied, chosen])
@pytest.mark.parametrize("before", [True, False], ids=["made before", "made inside"])
def test_missing_values_are_masked_too_late(loss, before):
    """0 * NaN is NaN, in the loss or in the derivative of what torch.where leaves out."""
    given = labels() if before else None

    def program():
        fitted(loss, labels() if given is None else given)

    diagnosed(program, "AG304", "# masked too late", "missing", severity="error", where=loss, values=True)


def test_missing_values_that_are_left_out():
    """Indexed or replaced before anything is computed with them they spoil nothing."""
    for loss in (indexed, filled):
        assert not inspected(lambda loss=loss: fitted(loss, labels()), values=True).findings


def test_nan_that_nobody_expects():
    """Without a look for NaN they are bad data, and the line that brings them is named."""
    found = inspected(lambda: fitted(F.mse_loss, labels()), values=True).findings
    assert found[0].rule == "AG304"
    assert "missing" not in found[0].message
