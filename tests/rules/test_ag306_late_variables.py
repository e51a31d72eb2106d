"""AG306: hooks that a loop makes and that look up the loop's variable when they run."""

# ruff: noqa: B023, PLW0603 - what the rule tells
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def steps(net, count=2):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(count):
        optimizer.zero_grad()
        F.cross_entropy(net(X), Y).backward()
        optimizer.step()


def test_a_factor_for_each_parameter():
    """All hooks use the last factor; bound in a default or by a function, each has its own."""

    def late():
        net = network()
        factors = {name: 1.0 / p.numel() for name, p in net.named_parameters()}
        for name, p in net.named_parameters():
            p.register_hook(lambda grad: grad * factors[name])  # late
        steps(net)

    def bound():
        net = network()
        factors = {name: 1.0 / p.numel() for name, p in net.named_parameters()}
        for name, p in net.named_parameters():
            p.register_hook(lambda grad, name=name: grad * factors[name])
        steps(net)

    def scaling(factor):
        return lambda grad: grad * factor

    def made():
        net = network()
        for p in net.parameters():
            p.register_hook(scaling(1.0 / p.numel()))
        steps(net)

    finding = diagnosed(late, "AG306", "# late", "`name`", "net.0.weight", "factors", severity="warning")
    assert "all 4 hooks" in finding.message
    calm(bound, made)


WIDTH = 1.0


def test_a_variable_of_the_module():
    """In a notebook the loop's variable is a global one."""

    def late():
        global WIDTH
        net = network()
        for layer in (net[0], net[2]):
            WIDTH = float(layer.in_features)
            layer.weight.register_hook(lambda grad: grad / WIDTH)  # global
        steps(net)

    diagnosed(late, "AG306", "# global", "`WIDTH`", "net.2.weight", severity="warning")


def test_hooks_that_run_before_the_variable_changes():
    """One after the other, each with a backward of its own; of one value for all; on one tensor."""

    def one_after_the_other():
        net, norms = network(), {}
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            out = net(X)
            out.register_hook(lambda grad: norms.__setitem__(step, grad.norm().item()))
            F.cross_entropy(out, Y).backward()
            optimizer.step()

    def of_one_value():
        net = network()
        scale = 0.5
        for p in net.parameters():
            scale = min(scale, 1.0)
            p.register_hook(lambda grad: grad * scale)
        steps(net)

    def never_run():
        net = network()
        for name, p in net.named_parameters():
            p.register_hook(lambda grad: print(name))
        net(X)

    calm(one_after_the_other, of_one_value, never_run)


def taking(net, taken, *, bound=False, between=False, unnamed=False):
    """Forward hooks that store what the layers return."""
    for key in ("0", "1"):
        layer = net.get_submodule(key)
        if unnamed:
            layer.register_forward_hook(lambda module, args, output: taken.append((type(module), output)))
        elif bound:
            layer.register_forward_hook(lambda module, args, output, key=key: taken.append((key, output)))
        else:
            layer.register_forward_hook(lambda module, args, output: taken.append((key, output)))  # late
        if between:
            net(X)


def test_forward_hooks_made_in_a_loop():
    """All store under the last key. Bound to it, of another name, or used before the next one is made, they do not."""

    def program(**how):
        net, taken = network(), []
        taking(net, taken, **how)
        steps(net, count=1)

    finding = diagnosed(program, "AG306", "# late", "`key`", "Linear", "ReLU", severity="warning", where=taking)
    assert "both hooks" in finding.message
    assert "lambda module, args, output, key=key" in finding.fix
    calm(lambda: program(bound=True), lambda: program(between=True), lambda: program(unnamed=True))


def test_forward_hooks_that_never_run():
    """Hooks are registered on a model that is not called."""
    calm(lambda: taking(network(), []))
