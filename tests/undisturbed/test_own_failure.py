"""The inspector's own failure: one warning, and the program's result stands."""

import warnings

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.capture import last_look, session
from autograd_inspector.capture.freezing import freeze
from autograd_inspector.capture.observers.backward import runs as gradients
from autograd_inspector.capture.observers.modules import calls as modules
from autograd_inspector.capture.observers.optimizers import known as optimizers
from autograd_inspector.capture.observers.optimizers import steps
from autograd_inspector.capture.recording import registry
from autograd_inspector.capture.undisturbed.warnings.own import InspectorWarning

pytestmark = pytest.mark.undisturbed


def train():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(torch.ones(5, 3)).sum()
        loss.backward()
        optimizer.step()
    return loss.item(), model[0].weight.detach().clone()


BREAKABLE = (
    (registry.Registry, "add"),
    (modules.Modules, "_push"),
    (gradients.Engine, "_begin"),
    (gradients.Engine, "_end"),
    (steps.Steps, "_begin"),
    (steps.Steps, "_end"),
    (optimizers.Optimizers, "_created"),
    (last_look, "walk_alive"),
    (session, "freeze"),
    (modules.Modules, "install"),
)


@pytest.mark.parametrize(("owner", "name"), BREAKABLE, ids=lambda part: getattr(part, "__name__", part))
def test_a_failure_anywhere_is_one_warning_and_the_result_stands(owner, name, monkeypatch):
    """Whatever part of the capture breaks, the program computes what it would, and is told once."""
    expected = train()

    def failing(*_args, **_kwargs):
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(owner, name, failing)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with autograd_inspector.inspect() as inspection:
            loss, weight = train()
    assert loss == expected[0]
    assert torch.equal(weight, expected[1])
    told = [str(w.message) for w in seen if issubclass(w.category, InspectorWarning)]
    assert len(told) == 1
    assert "ZeroDivisionError: injected" in told[0]
    assert told[0] in inspection.report.capture.notes


def test_a_failure_stays_a_warning_where_warnings_are_errors(monkeypatch, capsys):
    """A program that turns warnings into errors is not broken by ours: it reads them on stderr."""

    def failing(*_args, **_kwargs):
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(registry.Registry, "add", failing)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with autograd_inspector.inspect():
            assert (torch.ones(3) * 2).sum().item() == 6
    assert "ZeroDivisionError: injected" in capsys.readouterr().err


def test_a_programs_error_outlives_the_inspectors(monkeypatch):
    """When both fail, the program's exception comes out."""

    def failing(*_args, **_kwargs):
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(freeze, "resolve", failing)
    with pytest.warns(InspectorWarning), pytest.raises(KeyError, match="mine"), autograd_inspector.inspect():
        raise KeyError("mine")


PARTS = {
    "modules": (modules.Modules, "scan"),
    "optimizers": (optimizers.Optimizers, "snapshot"),
    "attributes": (last_look, "note_plain_attributes"),
    "graphs": (last_look, "walk_alive"),
}


@pytest.mark.parametrize("part", PARTS)
def test_what_cannot_be_looked_at_in_the_end_takes_nothing_else_with_it(part, monkeypatch):
    """The report has all the rest, and a note says what went wrong; one warning does, too."""

    def failing(*_args, **_kwargs):
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(last_look.LastLook, "take", broken_look(PARTS[part], failing))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with autograd_inspector.inspect() as inspection:
            model = nn.Linear(3, 1)
            optimizer = torch.optim.Adam(model.parameters())
            for _ in range(2):
                model(torch.ones(5, 3)).sum().backward()
                optimizer.step()
    capture = inspection.report.capture
    assert len([w for w in seen if issubclass(w.category, InspectorWarning)]) == 1
    assert capture.stopped == ""
    assert "ZeroDivisionError: injected" in capture.notes[-1]
    assert (len(capture.steps), len(capture.backwards), len(capture.placement.rows)) == (2, 2, 2)


def broken_look(part, failing):
    """The last look, during which one part of the capture fails whenever it is asked."""
    look = last_look.LastLook.take

    def looking(self, *, raised):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(*part, failing)
            look(self, raised=raised)

    return looking
