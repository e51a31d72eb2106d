"""Reports on what exists already."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from autograd_inspector import inspect_graph, inspect_model, inspect_optimizer


def trained() -> tuple[nn.Sequential, torch.optim.Optimizer]:
    """A small network after one Adam step."""
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    return net, optimizer


def rules(report) -> list[str]:
    return [finding.rule for finding in report.findings]


def test_graph_of_a_live_tensor_is_walked_and_named():
    """`inspect_graph(loss, model=net)` shows the nodes behind a tensor, with the model's parameter names."""
    net, _ = trained()
    report = inspect_graph(net(torch.ones(2, 3)).sum(), model=net)
    nodes = report.capture.graph_of(report.capture.backwards[0]).nodes
    leaves = {report.capture.display_names.of(n.variable) for n in nodes if n.variable >= 0}
    assert leaves == {"net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"}
    assert report.findings == ()


def test_modified_saved_tensor_is_found_before_backward_fails():
    """A graph whose saved tensor was modified is reported although nothing was run."""
    net, _ = trained()
    hidden = torch.sigmoid(net(torch.ones(2, 3)))
    loss = hidden.sum()
    assert rules(inspect_graph(loss, model=net)) == []
    hidden.add_(1)
    assert rules(inspect_graph(loss, model=net)) == ["AG201"]


def test_inspecting_a_graph_leaves_it_usable():
    """Backward runs after an inspection as it would have before."""
    net, _ = trained()
    loss = net(torch.ones(2, 3)).sum()
    expected = torch.autograd.grad(loss, list(net.parameters()), retain_graph=True)
    inspect_graph(loss)
    for gradient, wanted in zip(torch.autograd.grad(loss, list(net.parameters())), expected, strict=True):
        assert torch.equal(gradient, wanted)


def test_optimizer_rows_show_state_device_and_dtype():
    """`inspect_optimizer` has one row a parameter with its state; a sound optimizer gives no finding."""
    net, optimizer = trained()
    report = inspect_optimizer(optimizer, net)
    row = report.placement.rows[0]
    assert (row.name, row.device, row.dtype, row.shape) == ("net.0.weight", "cpu", "float32", (4, 3))
    assert {entry.name for entry in row.state} == {"step", "exp_avg", "exp_avg_sq"}
    assert report.findings == ()


def test_optimizer_beside_another_model_is_told():
    """A head that was replaced, and a model converted under its optimizer's state, are found without a step."""
    net, optimizer = trained()
    net[2] = nn.Linear(4, 2)
    assert rules(inspect_optimizer(optimizer, net)) == ["AG405"]
    net, optimizer = trained()
    net.double()
    assert rules(inspect_optimizer(optimizer, net)) == ["AG402"]


def test_one_optimizer_of_several_models():
    """Each parameter has its name in its own model."""
    encoder, head = nn.Linear(3, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    report = inspect_optimizer(optimizer, [encoder, head])
    assert report.findings == ()
    names = [row.name for row in report.placement.rows]
    assert names == ["encoder.weight", "encoder.bias", "head.weight", "head.bias"]
    with pytest.raises(TypeError, match=r"expected a torch\.nn\.Module, got str"):
        inspect_optimizer(optimizer, [encoder, "head"])


def test_frozen_models_have_nothing_loose():
    """A parameter that requires no grad need not be in the optimizer."""
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    net[0].requires_grad_(False)
    optimizer = torch.optim.SGD(net[1].parameters(), lr=0.1)
    assert inspect_optimizer(optimizer, net).findings == ()


@pytest.mark.parametrize(
    ("call", "argument", "wanted", "given"),
    [
        (inspect_graph, "loss", "torch.Tensor", "str"),
        (inspect_optimizer, nn.Linear(1, 1), "torch.optim.Optimizer", "Linear"),
        (inspect_model, torch.ones(1), "torch.nn.Module", "Tensor"),
    ],
)
def test_wrong_kind_of_argument_is_one_clear_line(call, argument, wanted, given):
    """What was expected and what was given, in one line."""
    with pytest.raises(TypeError) as caught:
        call(argument)
    line = str(caught.value)
    assert line.startswith(f"{call.__name__}: ")
    assert f" {wanted}, " in line
    assert line.endswith(f" {given}")
    assert "\n" not in line


def test_model_shows_every_name_of_a_tied_parameter():
    """A parameter that two modules share has one row and both names."""
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[1].weight = net[0].weight
    rows = inspect_model(net).placement.rows
    assert [row.names for row in rows if len(row.names) > 1] == [("0.weight", "1.weight")]
    assert len(rows) == 3
