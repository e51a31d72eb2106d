"""What is foretold happens: an error is found exactly where loading, or the step after it, raises."""

from __future__ import annotations

import itertools

import pytest
import torch

from .programs import findings, network, raises, saved

KINDS = {
    "SGD": lambda groups: torch.optim.SGD(groups, lr=0.1, momentum=0.9),
    "Adam": torch.optim.Adam,
    "AdamW": lambda groups: torch.optim.AdamW(groups, amsgrad=True),
    "RMSprop": torch.optim.RMSprop,
    "Adagrad": torch.optim.Adagrad,
    "NAdam": torch.optim.NAdam,
    "RAdam": torch.optim.RAdam,
    "Adamax": torch.optim.Adamax,
    "Rprop": torch.optim.Rprop,
    "ASGD": torch.optim.ASGD,
    "Adadelta": torch.optim.Adadelta,
    "Adafactor": torch.optim.Adafactor,
}


def in_order(net):
    return list(net.parameters())


def backwards(net):
    return list(net.parameters())[::-1]


def split(net):
    parameters = list(net.parameters())
    return [{"params": parameters[:2]}, {"params": parameters[2:]}]


def head(net):
    return list(net[2].parameters())


def told(checkpoint, net, optimizer):
    return [f"{f.rule}: {f.message}" for f in findings(checkpoint, net, optimizer) if f.severity == "error"]


@pytest.mark.parametrize("kinds", itertools.product(KINDS, KINDS), ids="-".join)
def test_every_optimizer_into_every_other(kinds):
    """144 pairs of torch's optimizers: an error is told where there is one, and only there."""
    before, after = (KINDS[kind] for kind in kinds)
    net, twin = network(), network()
    checkpoint = saved(net, before(net.parameters()))
    errors = told(checkpoint, twin, after(twin.parameters()))
    assert bool(errors) == raises(checkpoint, twin, after(twin.parameters())), errors


@pytest.mark.parametrize("width", [6, 7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("orders", itertools.product([in_order, backwards, split, head], repeat=2))
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_every_arrangement(width, dtype, orders, kind):
    """Widths, dtypes, orders and groups, saved one way and loaded another."""
    net, twin = network(), network(width).to(dtype)
    checkpoint = saved(net, KINDS[kind](orders[0](net)))
    errors = told(checkpoint, twin, KINDS[kind](orders[1](twin)))
    assert bool(errors) == raises(checkpoint, twin, KINDS[kind](orders[1](twin))), errors
