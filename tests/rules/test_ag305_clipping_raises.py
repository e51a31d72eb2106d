"""AG305: clipping that has nothing to work on, and clipping of another model than the one that is trained."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, summary
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def test_clipping_by_value_before_any_backward():
    """clip_grad_value_ raises where no parameter has a gradient: it came before backward()."""

    def sick():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            loss = F.mse_loss(net(X), Y)
            optimizer.zero_grad()
            nn.utils.clip_grad_value_(net.parameters(), 0.1)
            loss.backward()
            optimizer.step()

    finding = diagnosed(sick, "AG305", "clip_grad_value_", "weight", "backward()", severity="error")
    assert "between backward() and step()" in finding.fix


def test_clipping_by_value_in_a_later_round():
    """The same where an earlier round had gradients, which zero_grad has dropped."""

    def sick():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        F.mse_loss(net(X), Y).backward()
        optimizer.step()
        optimizer.zero_grad()
        nn.utils.clip_grad_value_(net.parameters(), 0.1)

    diagnosed(sick, "AG305", "clip_grad_value_", "weight", severity="error")


def test_clipping_a_used_up_generator_by_value():
    """With no parameters at all clip_grad_value_ raises as well, and the generator has the blame."""

    def sick():
        net = nn.Linear(4, 1)
        params = net.parameters()
        optimizer = torch.optim.SGD(params, lr=0.1)
        F.mse_loss(net(X), Y).backward()
        nn.utils.clip_grad_value_(params, 0.1)
        optimizer.step()

    diagnosed(sick, "AG305", "clip_grad_value_", "generator", severity="error")


def test_clipping_the_wrong_model():
    """An average of the model gets no gradient from any backward: no order of the calls would help."""

    def program(chosen):
        net = nn.Linear(4, 1)
        average = copy.deepcopy(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            nn.utils.clip_grad_norm_(chosen(net, average).parameters(), 1.0)
            optimizer.step()
            with torch.no_grad():
                for old, new in zip(average.parameters(), net.parameters(), strict=True):
                    old.lerp_(new, 0.1)

    finding = diagnosed(
        lambda: program(lambda net, average: average), "AG305", "clip_grad_norm_", "no backward()",
        severity="warning", where=program,
    )  # fmt: skip
    assert "the optimizer holds" in finding.fix
    calm(lambda: program(lambda net, average: net))


def test_other_errors_of_clipping():
    """A norm that is not finite, and that clipping was told to refuse, says nothing about the order of the calls."""

    def program():
        net = nn.Linear(4, 1)
        (net(X) * float("inf")).sum().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)

    report = inspected(program)
    assert report.capture.error, summary(report)
    assert not [f for f in alarms(report) if f.rule == "AG305"], summary(report)
