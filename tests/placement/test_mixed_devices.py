"""Devices that differ and belong together: nothing is reported."""

from __future__ import annotations

import torch
from torch import nn

from autograd_inspector import inspect_optimizer


def with_state(parameters, make=torch.optim.Adam, step_on="cpu", **settings):
    """An optimizer whose moments are where their parameters are, and whose counters are on ``step_on``."""
    parameters = list(parameters)
    optimizer = make(parameters, **settings)
    for parameter in parameters:
        optimizer.state[parameter] = {
            "step": torch.tensor(1.0, device=step_on),
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }
    return optimizer


def test_model_parallel():
    """Two halves of a model on two devices, each with its state beside it; the counters are on the CPU."""
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2, device="meta"))
    optimizer = with_state(net.parameters())
    report = inspect_optimizer(optimizer, net)
    assert report.findings == ()
    totals = report.placement.totals.by_device
    assert totals["cpu"].parameters == (16 + 4) * 4
    assert totals["meta"].state == 2 * (8 + 2) * 4


def test_offloaded_parameters():
    """Parameters offloaded to the CPU with their state, the others on the accelerator."""
    net = nn.ModuleDict({"embedding": nn.Embedding(10, 4), "head": nn.Linear(4, 10, device="meta")})
    assert inspect_optimizer(with_state(net.parameters(), torch.optim.AdamW), net).findings == ()


def test_counter_of_a_fused_step_belongs_to_its_parameter():
    """Only a fused or capturable step needs its counter on the device."""
    net = nn.Linear(4, 2, device="meta")
    optimizer = with_state(net.parameters())
    assert inspect_optimizer(optimizer, net).findings == ()
    optimizer.param_groups[0]["fused"] = True
    (finding,) = inspect_optimizer(optimizer, net).findings
    assert (finding.rule, "step" in finding.subjects) == ("AG401", True)
