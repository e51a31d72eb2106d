"""AG502: hooks of modules that every step registers and nobody removes."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import alarms, diagnosed, inspected, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def network():
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))


def looped(before, rounds=4, after=lambda: None):
    """A training loop; ``before`` each forward something is done to the model."""
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for number in range(rounds):
        before(net, number)
        trained(optimizer, net(X).pow(2).mean())
        after()


def registering(method):
    store = []

    def before(net, number):
        getattr(net[0], method)(lambda module, *rest: store.clear())

    return before


METHODS = ["register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rounds", [4, 40])
def test_hooks_of_each_step(method, rounds):
    """Whatever kind of hook; the line that registers it is to blame."""
    found = diagnosed(
        lambda: looped(registering(method), rounds), "AG502", "getattr(net[0], method)", "0 (Linear)", method,
        f"{rounds} of", severity="warning", where=registering,
    )  # fmt: skip
    assert "remove()" in found.fix


def test_hooks_of_several_modules():
    """One finding a line."""

    def before(net, number):
        for layer in (net[0], net[2]):
            layer.register_forward_hook(print_nothing)

    diagnosed(
        lambda: looped(before), "AG502", "layer.register_forward_hook", "0 (Linear)", "2 (Linear)", severity="warning",
        where=before,
    )  # fmt: skip


def print_nothing(module, given, out):
    return None


class Recorder:
    """Looks at a module's outputs for as long as it is open."""

    def __init__(self):
        self.handles, self.outputs = [], []

    def open(self, net, number):
        for layer in net:
            self.handles.append(layer.register_forward_hook(self.note))

    def note(self, module, given, out):
        self.outputs.append(out.detach().mean())

    def close(self):
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
        self.outputs.clear()


def test_hooks_that_are_removed():
    """After each forward, or all of them at the end of each step."""

    def context(net, number):
        with net[0].register_forward_hook(print_nothing):
            net(X).detach()

    recorder = Recorder()
    calm(lambda: looped(recorder.open, after=recorder.close), lambda: looped(context))
    assert not alarms(inspected(lambda: looped(recorder.open, 40, after=recorder.close)))


def test_hooks_of_the_set_up():
    """Several on one module, before the first step; of one layer that stands in several places; and some later on."""

    def several(net, number):
        for _ in range(5 if number == 0 else 0):
            net[0].register_forward_hook(print_nothing)

    def shared(net, number):
        for layer in [net[0]] * 4 if number == 0 else []:
            layer.register_forward_pre_hook(lambda module, given: None)

    def one_more(net, number):
        if number in {0, 2}:
            net[0].register_forward_hook(print_nothing)

    calm(lambda: looped(several), lambda: looped(shared), lambda: looped(one_more))


def test_hooks_of_models_that_are_made_anew():
    """Each fold of a cross-validation hooks its own model."""

    def program():
        for _ in range(4):
            net = network()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
            for _ in range(2):
                net[0].register_forward_hook(print_nothing)
            for _ in range(2):
                trained(optimizer, net(X).pow(2).mean())

    calm(program)


def test_hooks_of_layers_one_after_the_other():
    """Every step looks at another layer."""

    def program():
        net = nn.Sequential(*(nn.Linear(4, 4) for _ in range(6)))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for layer in net:
            layer.register_forward_hook(print_nothing)
            trained(optimizer, net(X).pow(2).mean())

    calm(program)
