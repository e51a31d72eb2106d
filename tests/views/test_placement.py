"""The placement in text, HTML and DOT."""

from __future__ import annotations

import contextlib

import torch
from torch import nn

import autograd_inspector
from autograd_inspector import inspect_optimizer


def moved_along() -> autograd_inspector.Report:
    """Two layers on two devices."""
    first, second = nn.Linear(4, 4), nn.Linear(4, 2, device="meta")
    with autograd_inspector.inspect() as inspection:
        loss = second(first(torch.ones(2, 4)).relu().to("meta")).sum()
    del loss
    return inspection.report


def test_a_backward_that_raised_reached_no_parameter():
    """Its gradients are not there, and the table does not say that they arrived."""
    net = nn.Linear(4, 4)
    inspection = autograd_inspector.inspect()
    with contextlib.suppress(RuntimeError), inspection:
        hidden = net(torch.ones(2, 4)).sigmoid()
        loss = hidden.sum()
        hidden.add_(1)
        loss.backward()
    assert inspection.report.capture.error
    assert [row.reached for row in inspection.report.placement.rows] == [False, False]
    assert "gradient reached" not in inspection.report.to_text()


def trained() -> autograd_inspector.Report:
    """A model whose head is replaced after its optimizer's first step."""
    net = nn.ModuleDict({"body": nn.Linear(4, 4), "head": nn.Linear(4, 2)})
    with autograd_inspector.inspect() as inspection:
        optimizer = torch.optim.Adam(net.parameters())
        net["head"](net["body"](torch.ones(1, 4))).sum().backward()
        optimizer.step()
        net["head"] = nn.Linear(4, 2)
    return inspection.report


def test_boxes_are_coloured_by_device():
    """Each device has a colour of its own, and the legend says which."""
    report = moved_along()
    source = report.to_dot(color_by="device")
    assert "■ cpu" in source
    assert "■ meta" in source
    assert "gradient flows back" not in source
    assert "■ cpu" not in report.to_dot()


def test_table_can_start_with_the_largest():
    """``order="bytes"`` puts what takes most memory first; by default the table is in the model's order."""
    net = nn.ModuleDict({"small": nn.Linear(2, 2, bias=False), "large": nn.Linear(64, 64, bias=False)})
    report = inspect_optimizer(torch.optim.SGD(net.parameters()), net)
    by_model, by_bytes = report.to_text(), report.to_text(order="bytes")
    assert by_model.index("small.weight") < by_model.index("large.weight")
    assert by_bytes.index("large.weight") < by_bytes.index("small.weight")


def test_sums_say_what_takes_the_memory():
    """Bytes in all and by kind; by module where there are several."""
    text = trained().to_text()
    assert "of parameters" in text
    assert "of gradients" in text
    assert "of optimizer state" in text
    assert "by module: " in text


def test_sums_call_modules_as_everything_does():
    """By the model and the place there, not by a bare number."""
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    text = inspect_optimizer(torch.optim.SGD(net.parameters()), net).to_text()
    assert "by module: net.0 24 B, net.1 12 B" in text
    with autograd_inspector.inspect() as inspection:
        net(torch.ones(2)).sum().backward()
    assert "by module: net.0 48 B, net.1 24 B" in inspection.report.to_text()


def test_orphans_stand_out_in_the_table():
    """A parameter that only the optimizer still holds is called an orphan where the optimizer is named."""
    assert "Adam, orphan" in trained().to_text()


def test_what_no_model_ever_had_is_no_orphan():
    """A temperature that is trained beside the model, in an optimizer of its own, belongs to nobody but the program."""
    net, temperature = nn.Linear(4, 2), torch.zeros(1, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        optimizers = [torch.optim.Adam(net.parameters()), torch.optim.Adam([temperature])]
        for _ in range(2):
            (net(torch.ones(1, 4)) * temperature.exp()).sum().backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
    assert [row["standing"] for row in inspection.report.placement.records()] == ["optimized"] * 3


def test_history_is_in_text_and_page(tmp_path):
    """What happened, with its line, is in both."""
    report = trained()
    for shown in (report.to_text(width=160), report.to_html(tmp_path / "report.html")):
        assert "what happened to" in shown.lower()
        assert "wrote 4 of 4 parameters" in shown
        assert "head = Linear" in shown
        assert "of the old parameters" in shown
