"""AG406: parameters that stay frozen in an optimizer, with something that speaks for it that they were to learn."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, inspected, line_of, summary, trained

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def trained_for(steps, optimizer, net):
    for _ in range(steps):
        trained(optimizer, F.cross_entropy(net(X), Y))


def hint(program):
    """The one finding, an info."""
    report = inspected(program)
    assert [(f.rule, f.severity) for f in report.findings] == [("AG406", "info")], summary(report)
    return report.findings[0]


def grads(module, *, on):
    for p in module.parameters():
        p.requires_grad_(on)


def attacked(net, *, back):
    """Freezes the network for a step of the input, and thaws a part of it."""
    x = X.clone()
    grads(net, on=False)
    x.requires_grad_(True)
    (g,) = torch.autograd.grad(net(x).sum(), x)
    grads(back(net), on=True)
    return x.detach() + 0.1 * g.sign()


def adversarial(back):
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        trained(optimizer, F.cross_entropy(net(attacked(net, back=back)), Y))


def test_frozen_after_the_optimizer_was_made():
    """What a helper froze in the loop and did not thaw; where all is thawed there is nothing to tell."""
    finding = hint(lambda: adversarial(lambda net: net[2]))
    assert "they still required grad when SGD was built" in finding.message
    assert finding.subjects == ("net.0.weight", "net.0.bias")
    lines = [place.lineno for place in finding.locations]
    assert line_of(attacked, "grads(net, on=False)") in lines
    report = inspected(lambda: adversarial(lambda net: net))
    assert not report.findings, summary(report)


def test_frozen_with_loaded_moments():
    """The checkpoint has the moments of a layer that the resumed run leaves frozen."""

    def program(*, momentum, loads=True):
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=momentum)
        trained_for(1, optimizer, net)
        saved = net.state_dict(), optimizer.state_dict()
        resumed = network()
        resumed.load_state_dict(saved[0])
        resumed[0].requires_grad_(False)
        again = torch.optim.SGD(resumed.parameters(), lr=0.1, momentum=momentum)
        if loads:
            again.load_state_dict(saved[1])
        trained_for(2, again, resumed)

    finding = hint(lambda: program(momentum=0.9))
    assert "loaded into SGD has entries for them" in finding.message
    assert finding.subjects == ("resumed.0.weight", "resumed.0.bias")
    for report in (inspected(lambda: program(momentum=0.9, loads=False)), inspected(lambda: program(momentum=0))):
        assert not report.findings, summary(report)


def test_frozen_like_one_that_was_thawed():
    """The line that froze a layer froze it in an earlier model as well, where it was thawed in time."""

    def model_of(thaws):
        net = network()
        net[0].requires_grad_(False)  # until later
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained_for(1, optimizer, net)
        if thaws:
            net[0].requires_grad_(True)
        trained_for(1, optimizer, net)
        return net

    finding = hint(lambda: [model_of(thaws) for thaws in (True, False)])
    assert "also froze the same part of another model, which was unfrozen later" in finding.message
    lines = [place.lineno for place in finding.locations]
    assert lines[0] == line_of(model_of, "# until later")
    assert line_of(model_of, "requires_grad_(True)") in lines
    for order in ((True, True), (False, False), (False, True)):
        report = inspected(lambda order=order: [model_of(thaws) for thaws in order])
        assert not report.findings, summary(report)


def test_frozen_by_a_library():
    """PEFT freezes all but its adapters, a new head as well, unless it is told to keep it."""
    peft = pytest.importorskip("peft")

    def program(**how):
        config = peft.LoraConfig(r=2, target_modules=["0"], **how)
        net = peft.get_peft_model(network(), config)  # freezes
        trained_for(2, torch.optim.AdamW(net.parameters(), lr=1e-2), net)

    finding = hint(program)
    assert finding.subjects[-2:] == ("net.base_model.model.2.weight", "net.base_model.model.2.bias")
    assert line_of(program, "# freezes") in [place.lineno for place in finding.locations]
    report = inspected(lambda: program(modules_to_save=["2"]))
    assert not alarms(report), summary(report)


def test_no_state_to_miss():
    """Plain SGD keeps no state, so a load leaves none of it out, whatever is frozen."""

    def program():
        net = network()
        net[0].requires_grad_(False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained_for(1, optimizer, net)
        optimizer.load_state_dict(optimizer.state_dict())
        trained_for(1, optimizer, net)

    report = inspected(program)
    assert not report.findings, summary(report)
