"""One tensor has one name: in findings, the placement table, pictures and fixes."""

from __future__ import annotations

import contextlib
import warnings

import torch
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

import autograd_inspector

X = torch.ones(2, 3)


class Cut(nn.Module):
    """What its first layer learns is cut off in its own forward."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 3), nn.Linear(3, 1)

    def forward(self, x):
        return self.last(self.first(x).detach())


def trained(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with autograd_inspector.inspect() as inspection:
        net(X).sum().backward()
        optimizer.step()
    return inspection.report


def test_a_parameter_is_called_alike_everywhere():
    """By its model and its place there: in subjects, messages, rows, the table of the text and the graph."""
    net = Cut()
    report = trained(net)
    (finding,) = report.findings
    assert set(finding.subjects) == {"net.first.weight", "net.first.bias"}
    assert all(name in finding.message for name in finding.subjects)
    assert set(finding.subjects) < {row.name for row in report.placement.rows}
    assert set(finding.subjects) < {node.name for node in report.graph.nodes}
    assert " first.weight" not in report.to_text()


def test_a_parameter_of_a_single_layer():
    """The model's name stands before it, where the layer is the model, too."""
    report = trained(nn.Linear(3, 1))
    assert [row.name for row in report.placement.rows] == ["net.weight", "net.bias"]
    assert {"net.weight", "net.bias"} <= {node.name for node in report.graph.nodes}


def test_models_are_told_apart():
    """Each name begins with its own model's, once."""
    encoder, decoder = nn.Linear(3, 3), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    with autograd_inspector.inspect() as inspection:
        decoder(encoder(X)).sum().backward()
        optimizer.step()
    assert [row.name for row in inspection.report.placement.rows] == [
        "encoder.weight",
        "encoder.bias",
        "decoder.weight",
        "decoder.bias",
    ]


def test_what_a_state_dict_calls_it_is_kept():
    """The names of a row are those of the model's own state_dict."""
    net = Cut()
    report = trained(net)
    assert {name for row in report.placement.rows for name in row.names} == set(net.state_dict())


def test_a_wrapper_is_no_part_of_a_name():
    """What a wrapper calls the module that it wraps is never shown: not in the finding, the graph or the table."""
    report = trained(checkpoint_wrapper(Cut()))
    (finding,) = report.findings
    assert set(finding.subjects) == {"net.first.weight", "net.first.bias"}
    assert "net.first" in finding.message
    shown = "".join([report.to_text(), report.to_dot(), finding.message, finding.fix, *finding.subjects])
    assert "_checkpoint_wrapped_module" not in shown


def test_an_output_of_a_wrapped_root():
    """A cut behind an activation wrapper speaks of the variable that holds the wrapper."""
    wrapped = checkpoint_wrapper(nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
    with autograd_inspector.inspect() as inspection, contextlib.suppress(RuntimeError):
        wrapped(X).detach().sum().backward()
    (finding,) = inspection.report.findings
    assert "the output of wrapped " in finding.message


def test_a_tensor_in_a_container():
    """What no variable holds is called by the expression that the program has for it."""
    state = {"w": torch.ones(3).requires_grad_() * 2}
    with autograd_inspector.inspect() as inspection:
        (state["w"] ** 2).sum().backward()
        with contextlib.suppress(AttributeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state["w"].grad.norm()
    (finding,) = inspection.report.findings
    assert finding.subjects == ("state['w']",)
