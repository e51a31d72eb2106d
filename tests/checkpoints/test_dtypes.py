"""AG402: what load_state_dict casts, told before it does."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from .programs import adam, findings, network, one_step, only, raises, repaired, saved, sound


def test_into_bfloat16():
    """float32 parameters and moments into a bfloat16 model: one warning for both; nothing raises."""
    net = network().bfloat16()
    optimizer = adam(net)
    checkpoint = saved()
    finding = only(checkpoint, net, optimizer)
    assert (finding.rule, finding.severity) == ("AG402", "warning")
    assert "float32 to bfloat16" in finding.message
    assert "exp_avg" in finding.message
    assert "step" not in finding.subjects
    assert not raises(checkpoint, network().bfloat16(), optimizer)
    names = repaired(finding, checkpoint, net, optimizer)
    assert net[0].weight.dtype == torch.float32
    assert names["optimizer"].state[net[0].weight]["exp_avg"].dtype == torch.float32


def test_out_of_bfloat16():
    """Widening changes no value: info."""
    net = network()
    checkpoint = saved(network().bfloat16())
    assert only(checkpoint, net, adam(net)).severity == "info"


@pytest.mark.parametrize(
    ("before", "after", "severity"),
    [
        (torch.float32, torch.float16, "warning"),
        (torch.float16, torch.bfloat16, "warning"),
        (torch.bfloat16, torch.float16, "warning"),
        (torch.float64, torch.float32, "warning"),
        (torch.float32, torch.float64, "info"),
        (torch.float16, torch.float32, "info"),
        (torch.int64, torch.float32, "info"),
        (torch.float32, torch.int64, "warning"),
        (torch.complex64, torch.float32, "warning"),
        (torch.complex64, torch.complex128, "info"),
    ],
)
def test_what_a_cast_costs(before, after, severity):
    """Fewer bits of mantissa or exponent lose values; more do not."""

    class Table(nn.Module):
        def __init__(self, dtype):
            super().__init__()
            self.register_buffer("table", torch.ones(3, dtype=dtype))

    finding = only({"model": Table(before).state_dict()}, Table(after))
    assert (finding.rule, finding.severity) == ("AG402", severity)


class Codes(torch.optim.Optimizer):
    """Keeps its momentum in 8 bits."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1})

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p].setdefault("codes", torch.full_like(p, 7, dtype=torch.uint8))
                self.state[p].setdefault("absmax", torch.ones(1))


def test_codes_of_an_8_bit_optimizer():
    """uint8 codes would become floats: a warning, and the lines that put them back."""
    net = network()
    checkpoint = saved(net, Codes(net.parameters()))
    optimizer = Codes(net.parameters())
    finding = only(checkpoint, net, optimizer)
    assert (finding.rule, finding.severity) == ("AG402", "warning")
    assert "uint8 to float32" in finding.message
    assert "codes" in finding.message
    twin = Codes(net.parameters())
    twin.load_state_dict(copy.deepcopy(checkpoint["optimizer"]))
    assert twin.state[net[0].weight]["codes"].dtype == torch.float32
    repaired(finding, checkpoint, net, optimizer)
    assert optimizer.state[net[0].weight]["codes"].dtype == torch.uint8


def test_an_optimizer_that_loads_in_its_own_way():
    """What overrides load_state_dict is not foretold to cast."""

    class Careful(Codes):
        def load_state_dict(self, state_dict):
            """Keep the dtypes."""

    net = network()
    sound(saved(net, Careful(net.parameters())), net, Careful(net.parameters()))


def test_moments_wider_than_their_parameters():
    """float32 moments of bfloat16 parameters, as some optimizers keep them, are lowered in silence."""

    class Wide(torch.optim.Optimizer):
        def __init__(self, parameters):
            super().__init__(parameters, {"lr": 0.1})

        def step(self):
            for p in self.param_groups[0]["params"]:
                self.state[p].setdefault("exp_avg", torch.zeros_like(p, dtype=torch.float32)).add_(p.grad)

    net = network().bfloat16()
    checkpoint = saved(net, Wide(net.parameters()))
    optimizer = Wide(net.parameters())
    finding = only(checkpoint, net, optimizer)
    assert "casts float32 to bfloat16" in finding.message
    repaired(finding, checkpoint, net, optimizer)
    assert optimizer.state[net[0].weight]["exp_avg"].dtype == torch.float32


def test_step_counters_are_left_alone():
    """``step`` is float32 whatever the parameters are: no finding."""
    net = network().double()
    optimizer = adam(net)
    one_step(net, optimizer)
    checkpoint = {"model": net.state_dict(), "optimizer": optimizer.state_dict()}
    assert optimizer.state[net[0].weight]["step"].dtype == torch.float32
    assert findings(checkpoint, net, adam(net)) == ()
