"""State that is nested, or that objects hold, has rows and counts in the totals; what cannot be seen is told."""

from __future__ import annotations

import collections
import dataclasses
import re
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector import inspect_optimizer
from autograd_inspector.model.placement_rows import innermost

from .told import numbers

SIZE = 64 * 4
"""Bytes of each tensor that a state holds here."""


def filled():
    return torch.ones(8, 8)


@dataclasses.dataclass
class Moments:
    first: torch.Tensor
    rest: dict


class Slotted:
    __slots__ = ("matrix", "missing")

    def __init__(self):
        self.matrix = filled()


class Guarded:
    """Would say something else about itself than it has."""

    def __init__(self):
        self.matrix = filled()

    def __getattribute__(self, name):
        raise RuntimeError("nobody may look")


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


class Kept(torch.optim.SGD):
    """Puts something into the state of each of its parameters."""

    def __init__(self, parameters, make, keys=()):
        super().__init__(parameters, lr=0.1)
        self.make, self.keys = make, keys

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p].setdefault("kept", self.make())
        for key in self.keys:
            self.state[key].setdefault("kept", self.make())
        return super().step(closure)


def trained(make, keys=()):
    net = nn.Linear(8, 8, bias=False)
    optimizer = Kept(net.parameters(), make, keys)
    with autograd_inspector.inspect() as inspection:
        net(torch.ones(2, 8)).sum().backward()
        optimizer.step()
    reports = (inspection.report, inspect_optimizer(optimizer, net))
    names = [[entry.name for entry in report.placement.rows[0].state] for report in reports]
    assert names[0] == names[1]
    return reports[1]


def cyclic():
    own = {"tensor": filled()}
    own["self"] = own
    return {"own": own}


def deep():
    found = filled()
    for _ in range(20):
        found = {"x": [found]}
    return found


CASES = {
    "dictionaries": (lambda: {"a": {"b": {"c": [filled(), filled()]}}}, ['["a"]["b"]["c"][0]', '["a"]["b"]["c"][1]']),
    "numbers as keys": (lambda: {0: {1: filled()}}, ["[0][1]"]),
    "default": (lambda: collections.defaultdict(list, a=[(filled(),)]), ['["a"][0][0]']),
    "deque": (lambda: collections.deque([filled(), filled()]), ["[0]", "[1]"]),
    "set": (lambda: {filled()}, ["{0}"]),
    "named tuple": (lambda: [Pair(filled(), filled())], ["[0].left", "[0].right"]),
    "dataclass": (lambda: Moments(filled(), {"second": [filled()]}), [".first", '.rest["second"][0]']),
    "slots": (Slotted, [".matrix"]),
    "guarded": (Guarded, [".matrix"]),
    "module": (lambda: nn.Sequential(nn.Linear(8, 8, bias=False)), [".0.weight"]),
    "user dictionary": (lambda: collections.UserDict(a=filled()), ['.data["a"]']),
    "cycle": (cyclic, ['["own"]["tensor"]']),
    "deep": (deep, ['["x"][0]' * 20]),
}


@pytest.mark.parametrize(("make", "names"), CASES.values(), ids=CASES)
def test_whatever_holds_the_tensors(make, names):
    """They are called as the program would write them behind ``state[p]``, and their bytes are counted."""
    report = trained(make)
    (row,) = report.placement.rows
    assert [entry.name for entry in row.state] == [f"kept{name}" for name in names]
    assert report.placement.totals.whole.state == SIZE * len(names)
    assert not report.notes
    assert not report.findings


def test_one_tensor_under_several_names():
    """Each name has an entry; the memory counts once, and what is the parameter's own not at all."""
    shared = filled()
    net = nn.Linear(8, 8, bias=False)
    optimizer = Kept(net.parameters(), lambda: {"a": [shared], "b": shared, "parameter": net.weight})
    net(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    report = inspect_optimizer(optimizer, net)
    assert len(report.placement.rows[0].state) == 3
    assert report.placement.totals.whole.state == SIZE


def tower():
    found = filled()
    for _ in range(100):
        found = [found]
    return found


def closure():
    held = filled()
    return lambda: held


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: np.ones(3), ("`kept`", "numpy.ndarray")),
        (lambda: {"x": np.ones(3)}, ('`kept["x"]`', "numpy.ndarray")),
        (lambda: iter([filled()]), ("`kept`", "builtins.list_iterator")),
        (closure, ("`kept`", "closure")),
        (tower, ("64 levels",)),
        (lambda: [0.5] * 200_000, ("100,000 values",)),
    ],
)
def test_what_cannot_be_looked_into(make, told):
    """One note says what is in no row and no total: whose state, where it stands, and what it is."""
    report = trained(make)
    (note,) = report.notes
    assert "in no row and in no total" in note
    assert [part for part in ("Kept", *told) if part not in note] == []


def test_state_of_no_parameter():
    """What stands under another key than a parameter is told with its bytes."""
    report = trained(filled, keys=("shared", nn.Linear(1, 1)))
    (note,) = report.notes
    for key in ('"shared"', "Linear"):
        (held,) = re.findall(rf"`state\[{key}\]` \(([^)]*)\)", note)
        assert numbers(held) == [1, SIZE]


def test_harmless_things_are_not_told():
    """Settings, functions, classes and random generators have no memory to speak of."""
    report = trained(
        lambda: {"a": abs, "b": nn.Linear, "c": torch.Generator(), "d": range(3), "e": torch.float32, "f": len}
    )
    assert not report.notes
    assert report.placement.rows[0].state == ()


@pytest.mark.parametrize(
    ("name", "key"),
    [("exp_avg", "exp_avg"), ('a["b"][0]', "b"), ("a[0].left", "left"), ('a["x.y"]', "x.y"), ("a['it\"s'][2]", 'it"s')],
)
def test_innermost_key(name, key):
    """The last key or attribute on the way, which loading goes by."""
    assert innermost(name) == key
