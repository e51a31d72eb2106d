"""Whatever a program holds or hands to torch, the recorder comes to an end with looking at it."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.capture.module_tree import every_path, named_modules
from autograd_inspector.capture.observers.compiled import apart as apart_module
from autograd_inspector.capture.observers.compiled.apart import apart
from autograd_inspector.capture.recording.recorded_nodes import _producers_first
from autograd_inspector.capture.vitals.memory import bytes_of
from autograd_inspector.model.autograd import Node
from tests.capture.observe import names


class Array(np.ndarray):
    """An array whose ``base`` is the very same object."""

    @property
    def base(self):
        return self


class Told(torch.optim.SGD):
    """An optimizer whose step is given data."""

    def step(self, data):
        """One step."""
        with torch.no_grad():
            for parameter in self.param_groups[0]["params"]:
                parameter.sub_(parameter.grad, alpha=data[0])


class Twice(nn.Module):
    """Has the same part under two names, and uses one of them."""

    def __init__(self, part):
        super().__init__()
        self.first = self.second = part

    def forward(self, x):
        return self.first(x)


def test_an_array_that_is_its_own_base():
    """What NumPy calls the base of a view may be the object itself."""
    with autograd_inspector.inspect() as inspection:
        torch.ones(3).numpy()
        torch.as_tensor(np.ones(3).view(Array)).sum()
    assert names(inspection.report.capture) == ["ones", "numpy", "as_tensor", "sum"]


def test_a_step_that_is_given_a_list_which_contains_itself():
    """Each of its entries leads back to the list ten times: not all ways of any length are gone."""
    weight = nn.Parameter(torch.ones(2))
    data = [0.5]
    data += [data] * 10
    with autograd_inspector.inspect() as inspection:
        weight.sum().backward()
        Told([weight], lr=1.0).step(data)
    assert weight.tolist() == [0.5, 0.5]
    assert [step.error for step in inspection.report.capture.steps] == [""]


def test_modules_that_have_their_parts_twice():
    """Forty levels have a thousand billion paths: each module is there under its first one, and has some others."""
    leaf = nn.Linear(2, 2)
    model = leaf
    for _ in range(40):
        model = Twice(model)
    first = dict(named_modules(model))
    assert len(first) == 41
    paths = [path for path, module in every_path(model) if module is leaf]
    assert next(iter(reversed(first))) == paths[0] == ".".join(["first"] * 40)
    assert 1 < len(paths) < 5000
    with autograd_inspector.inspect() as inspection:
        model(torch.ones(1, 2)).sum().backward()
    assert f"{paths[0]}.weight" in {name for row in inspection.report.placement.rows for name in row.names}


def test_models_with_few_paths_have_all_of_them():
    """A part that stands in several places is told of in each."""
    shared = nn.Linear(2, 2)
    model = nn.Sequential(*[shared] * 100)
    assert [path for path, module in every_path(model) if module is shared] == [str(place) for place in range(100)]


def test_state_that_contains_itself():
    """The bytes of an optimizer's state are counted once, also where a dictionary in it leads back to it."""
    parameter = nn.Parameter(torch.ones(4))
    state = {"moment": torch.ones(4), "parts": {}}
    state["parts"] |= {"whole": state, "again": state}
    assert bytes_of(0, [parameter], {parameter: state}).state == 16


def test_hooks_that_can_be_asked_for_and_not_taken_off(monkeypatch):
    """A torch that lacks one of the two functions keeps the program's hooks on saved tensors where they are."""

    def pop():
        raise AssertionError("they could not be put back")

    monkeypatch.setattr(apart_module, "SAVED_HOOKS_MOVE", False)
    monkeypatch.setattr(apart_module, "pop_saved_hooks", pop)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        recorder = torch.overrides.TorchFunctionMode()
        with apart(recorder):
            assert torch._C._get_function_stack_at(0) is recorder
        torch.ones(2, requires_grad=True).exp()
    assert len(packed) == 1


def test_edges_that_lead_in_a_circle():
    """Records of nodes that were matched wrongly are brought into some order, each of them once."""
    nodes = [Node(0, "A", 2, ((1, 0),)), Node(1, "B", 1, ((2, 0), (0, 0))), Node(2, "C", 0, ())]
    assert _producers_first(nodes) == [2, 0, 1] or _producers_first(nodes) == [2, 1, 0]
