"""What a program has of its own ``locals()`` is what it wrote there, and nothing else."""

import weakref
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import autograd_inspector


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def freeze(self, **settings):
        self.w.requires_grad_(False)


class Frozen(Base):
    def freeze(self, depth=3):
        config = locals()
        config.pop("self")
        config.pop("__class__", None)
        super().freeze()
        return sorted(config)


def edited(w, optimizer, lr=0.1):
    config = locals()
    config["lr"] = 0.5
    del config["w"], config["optimizer"]
    big = torch.zeros(100)
    entries = len(optimizer.state)
    loss = (w * 2 + big.sum() + entries).sum()
    loss.backward()
    alive = weakref.ref(big)
    del big
    return dict(config), alive() is None


def variables(w, optimizer):
    config = vars()
    config.clear()
    (w * 2).sum().backward()
    optimizer.step()
    return dict(config)


def executed(w, optimizer):
    kept = locals()
    exec("factor = 3", None, kept)
    (w * 2).sum().backward()
    optimizer.step()
    return eval("factor", None, kept)


def frozen(w, optimizer):
    return Frozen().freeze()


@pytest.mark.parametrize("program", [edited, variables, executed, frozen], ids=lambda program: program.__name__)
def test_a_program_that_keeps_its_locals(program):
    """Its edits stay, variables that it took out do not come back, and what it deletes is freed."""

    def run():
        w = torch.ones(2, requires_grad=True)
        return program(w, torch.optim.SGD([w], lr=0.1))

    plain = run()
    with autograd_inspector.inspect() as inspection:
        inspected = run()
    assert inspected == plain
    assert inspection.report.capture.ops


def test_what_is_about_another_object_hides_no_variables():
    """`vars(args)` is not `vars()`, nor is a method of that name: the function's variables name its tensors."""

    def program():
        net = nn.Linear(2, 1)
        settings = vars(SimpleNamespace(lr=0.1, locals=dict))
        settings.get("lr"), SimpleNamespace(locals=dict).locals()
        batch = torch.ones(3, 2)
        net(batch).sum().backward()

    with autograd_inspector.inspect() as inspection:
        program()
    assert "batch" in {tensor.variable for tensor in inspection.report.capture.tensors}
