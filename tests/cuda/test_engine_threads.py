"""The engine computes a device's part of backward in a thread of its own: what runs there is seen as on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from autograd_inspector import Report, inspect
from autograd_inspector.model.capture import Capture

Program = Callable[[torch.device], Any]


class Squared(torch.autograd.Function):
    """Its backward cuts what a second derivative would go through."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x.detach() * grad


class Solved(torch.autograd.Function):
    """Its backward differentiates, with or without grad mode."""

    @staticmethod
    def forward(ctx, x, enabled):
        ctx.save_for_backward(x)
        ctx.enabled = enabled
        return x.tanh()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        with torch.set_grad_enabled(ctx.enabled):
            y = x.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(y.tanh(), y, grad)
        return gradient, None


def stepped(model: nn.Module, loss: Callable[[Tensor], Tensor], device: torch.device) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss(torch.randn(4, 8, device=device, requires_grad=True)).backward()
        optimizer.step()


def penalised(device: torch.device) -> None:
    """A gradient penalty, whose graph the engine makes."""
    critic = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)).to(device)

    def loss(x: Tensor) -> Tensor:
        out = critic(x)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        return out.mean() + (slope.norm(2, dim=1) - 1).square().mean()

    stepped(critic, loss, device)


def kept_graphs(device: torch.device) -> None:
    """Gradients with a graph, that are differentiated themselves."""
    net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)).to(device)
    net(torch.randn(4, 8, device=device)).square().sum().backward(create_graph=True)
    net[0].weight.grad.square().sum().backward()
    for parameter in net.parameters():
        parameter.grad = None


def recomputed(device: torch.device, *, use_reentrant: bool) -> None:
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU()) for _ in range(3)).to(device)

    def loss(x: Tensor) -> Tensor:
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=use_reentrant)
        return x.square().mean()

    stepped(blocks, loss, device)


def solved(device: torch.device) -> None:
    net = nn.Linear(8, 8).to(device)
    stepped(net, lambda x: Solved.apply(net(x), True).square().mean(), device)


def hooked(device: torch.device) -> None:
    """A hook computes, and another gradient is taken inside it."""
    net = nn.Linear(8, 8).to(device)

    def loss(x: Tensor) -> Tensor:
        h = net(x)
        h.register_hook(measured)
        return h.square().mean()

    @torch.enable_grad()
    def measured(grad: Tensor) -> Tensor:
        (slope,) = torch.autograd.grad(net.weight.square().sum(), net.weight)
        return grad + 0 * slope.mean()

    stepped(net, loss, device)


HEALTHY: dict[str, Program] = {
    "penalised": penalised,
    "kept graphs": kept_graphs,
    "recomputed": lambda device: recomputed(device, use_reentrant=False),
    "recomputed, reentrant": lambda device: recomputed(device, use_reentrant=True),
    "solved": solved,
    "hooked": hooked,
}


def report_of(program: Program, device: torch.device) -> Report:
    torch.manual_seed(0)
    with inspect() as inspection:
        program(device)
    return inspection.report


def described(capture: Capture) -> tuple[list[Any], list[Any], list[Any]]:
    """Ops, runs and nodes, without what only a device needs: the way of the parameters there."""
    ops = capture.ops
    made = [(op.name, op.recorded, int(op.traits)) for op in ops if op.name not in ("to", "set_data")]
    runs = [(run.api, run.nested_in, len(run.reached), run.create_graph) for run in capture.backwards]
    nodes = [(node.name, node.edges, ops[node.op].name if node.op >= 0 else "") for node in capture.nodes]
    return made, runs, nodes


def loud(report: Report) -> list[str]:
    return [finding.rule for finding in report.findings if finding.severity in ("error", "warning")]


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.filterwarnings("ignore:Using backward")
def test_the_record_is_that_of_the_host(name, device):
    """Ops, runs, and nodes with the ops that made them are the same on the device and on the host."""
    host, there = (report_of(HEALTHY[name], where).capture for where in (torch.device("cpu"), device))
    assert described(there) == described(host)


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.filterwarnings("ignore:Using backward")
def test_nothing_is_said_against_it(name, device):
    """What is right on the host is right on the device."""
    assert loud(report_of(HEALTHY[name], device)) == loud(report_of(HEALTHY[name], torch.device("cpu"))) == []


def test_a_cut_in_a_backward_that_is_differentiated(device):
    """The second derivative that a custom backward loses is told as on the host."""

    def program(where: torch.device) -> None:
        net = nn.Linear(8, 8).to(where)

        def loss(x: Tensor) -> Tensor:
            (slope,) = torch.autograd.grad(Squared.apply(net(x)).sum(), x, create_graph=True)
            return slope.square().mean()

        stepped(net, loss, where)

    assert "AG108" in loud(report_of(program, device))


def test_a_gradient_without_grad_mode_in_a_backward(device):
    """What cannot be differentiated inside a custom backward is named where it was computed."""
    net = nn.Linear(8, 8).to(device)
    with pytest.raises(RuntimeError, match="does not require grad"), inspect() as inspection:
        stepped(net, lambda x: Solved.apply(net(x), False).square().mean(), device)
    assert loud(inspection.report) == ["AG102"]
