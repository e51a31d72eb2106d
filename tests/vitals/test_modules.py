"""What is measured of modules and activation functions is what one computes by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from .test_parameters import close, vitals


def module(found, label):
    [one] = [row for row in found.modules if row.label == label]
    return one


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(6, 8)
        self.act = nn.ReLU()
        self.out = nn.Linear(8, 2)
        self.seen = {}

    def forward(self, x):
        hidden = self.hidden(x)
        active = self.act(hidden)
        gate = torch.sigmoid(hidden * 20)
        out = self.out(active * gate)
        self.seen = {"hidden": hidden, "act": active, "sigmoid": gate, "out": out}
        return out


def test_statistics_of_modules_and_functions():
    """Mean, deviation and zeros of each module that computes, of a function called in one, by hand."""
    torch.manual_seed(0)
    net = Net()
    found = vitals(lambda: net(torch.randn(32, 6)).sum().backward())
    assert [row.label for row in found.modules] == ["hidden", "act", "sigmoid", "out"]
    for name, made in net.seen.items():
        one, values = module(found, name), made.detach()
        close(one.mean, [values.mean().item()])
        close(one.deviation, [values.std().item()])
        close(one.zeros, [(values == 0).float().mean().item()])
    gate = net.seen["sigmoid"].detach()
    close(module(found, "sigmoid").saturated, [((gate * (1 - gate)) < 0.0025).float().mean().item()])
    assert module(found, "hidden").saturated.values == ()


def test_units_that_are_dead_and_stay_so():
    """A unit is dead in a step where it is 0 for the whole batch, and never active where that is so in all."""
    net = Net()
    with torch.no_grad():
        net.hidden.bias[:3] = -1_000.0
        net.hidden.bias[3] = -10.0
        net.hidden.weight.fill_(1.0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)

    def program():
        for size in (0.1, 5.0):
            net(torch.full((16, 6), size)).sum().backward()
            optimizer.step()

    act = module(vitals(program), "act")
    close(act.dead, [4 / 8, 3 / 8])
    assert (act.units, act.never) == (8, 3)


def test_channels_of_images_are_units():
    """Of [N, C, H, W] dimension 1 counts."""
    conv = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU())
    with torch.no_grad():
        conv[0].weight.fill_(1.0)
        conv[0].bias[:] = torch.tensor([-1_000.0, 1.0, 1.0, 1.0])
    act = module(vitals(lambda: conv(torch.rand(2, 1, 8, 8)).sum().backward()), "1")
    assert (act.units, act.never) == (4, 1)


def test_a_few_inputs_kill_nobody():
    """Of fewer than eight inputs a unit may be 0 by chance: dead ones are not counted."""
    net = Net()
    assert module(vitals(lambda: net(torch.randn(4, 6)).sum().backward()), "act").dead.values == ()


def test_only_the_first_call_counts():
    """A recomputation, a second forward of the step, and one without grad are not measured."""
    torch.manual_seed(0)
    net, sizes = Net(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)

    def program():
        with torch.no_grad():
            net(torch.full((16, 6), 9.0))
        for size in (1.0, 2.0):
            checkpoint(net, torch.full((16, 6), size), use_reentrant=False).sum().backward()
            sizes.append(net.seen["hidden"].mean().item())
            net(torch.full((16, 6), 70.0))
            optimizer.step()

    close(module(vitals(program), "hidden").mean, sizes)


def test_functions_called_again_in_a_module_are_rows_of_their_own():
    """The second `relu` of a forward is another one."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.eye(4))

        def forward(self, x):
            return functional.relu(functional.relu(x @ self.weight) - 1)

    found = vitals(lambda: Twice()(torch.full((8, 4), 0.5)).sum().backward())
    assert [row.label for row in found.modules] == ["relu", "relu #2", "Twice"]
    close(module(found, "relu #2").zeros, [1.0])
    assert module(found, "relu #2").site >= 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_neither_overflows_nor_rounds(dtype):
    """Mean and deviation are computed in float32."""
    net = nn.Linear(4, 4).to(dtype)
    with torch.no_grad():
        net.weight.zero_()
        net.bias.copy_(torch.tensor([60_000.0, -60_000.0, 60_000.0, 0.0]))
    one = module(vitals(lambda: net(torch.ones(64, 4, dtype=dtype)).sum().backward()), "Linear")
    values = net.bias.detach().double().expand(64, 4)
    close(one.mean, [values.mean().item()])
    close(one.deviation, [values.std().item()])
