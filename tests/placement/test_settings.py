"""Settings of parameter groups are values: what is off is off however it is written, and reports show the same text."""

import enum
import json
import math

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector import Report
from autograd_inspector.advice.optimizer_snippets import remade
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.capture.observers.optimizers.placement import settings_of
from autograd_inspector.model.settings import SettingText, is_off, setting_text
from autograd_inspector.views.encoding import encoded


class Mode(enum.IntEnum):
    FAST = 1


@pytest.mark.parametrize("value", [None, False, 0, 0.0, -0.0, ""])
def test_what_is_off(value):
    """Not set, False, zeros of both signs."""
    assert is_off(value)


@pytest.mark.parametrize("value", [True, 1, 1e-9, -0.1, "0", (0.0, 0.0), SettingText("nan")])
def test_what_is_on(value):
    """Anything else, texts and tuples too."""
    assert not is_off(value)


VALUES = (None, True, 0, -0.0, 1e-8, 10**18, 10**30, math.inf, "max", "None", (), (0.9,), (0.9, 0.999), ("a", None))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_they_read_as_python_writes_them(value):
    """The same text as str() of the value itself."""
    found = settings_of({"params": [], "given": value})
    assert setting_text(found["given"]) == str(value)


def test_values_that_a_report_cannot_hold():
    """They keep their text; a tensor is not read."""
    betas = (torch.tensor(0.9), 0.999)
    found = settings_of({"mode": Mode.FAST, "lr": torch.tensor(0.0), "betas": betas, "huge": 10**6000})
    assert found["mode"] == SettingText("1")
    assert "lr" not in found
    assert found["betas"] == (SettingText("<Tensor>"), 0.999)
    assert isinstance(found["huge"], SettingText)


def inspected(**settings):
    net = nn.Linear(2, 1)
    with autograd_inspector.inspect() as inspection:
        optimizer = torch.optim.SGD(net.parameters(), **settings)
        for key, value in {"text": "0", "flag": "True", "nothing": "null", "far": math.inf}.items():
            optimizer.param_groups[0][key] = value
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    return inspection.report


def test_they_come_back_from_a_file():
    """Each as what it was: texts that look like numbers stay texts."""
    report = inspected(lr=0.1)
    (group,) = report.placement.optimizers[0].groups
    assert (group["lr"], group["nesterov"], group["fused"], group["text"]) == (0.1, False, None, "0")
    (read,) = Report.from_json(report.to_json()).placement.optimizers[0].groups
    assert read == group
    assert [type(value) for value in read.values()] == [type(value) for value in group.values()]


def test_tables_show_text():
    """As they did: one column a setting, and what the widget shows of a group."""
    report = inspected(lr=0.1, momentum=0.9)
    record = report.placement.records()[0]
    assert (record["group.lr"], record["group.nesterov"], record["group.far"]) == ("0.1", "False", "inf")
    shown = json.loads(encoded(report)[0])
    assert json.dumps(shown).count('"lr": "0.1"') == 1


def test_a_statement_leaves_out_what_is_off():
    """A momentum of -0.0 is none."""
    report = inspected(lr=0.1, momentum=-0.0, weight_decay=0.01)
    analysis = Analysis(report.capture)
    (optimizer,) = report.placement.optimizers
    assert remade(analysis, optimizer, optimizer.held).endswith("SGD(net.parameters(), lr=0.1, weight_decay=0.01)")
