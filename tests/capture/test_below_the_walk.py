"""Where autograd's nodes lie too deep to be met, the records of ops tell the same of what gradient reaches."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import autograd_inspector
from autograd_inspector.capture.graph_walk import walk as graph_walk


class Half(torch.autograd.Function):
    """Gives its second argument no gradient."""

    @staticmethod
    def forward(ctx, x, unused):
        return x / 2 + 0 * unused

    @staticmethod
    def backward(ctx, gradient):
        return gradient / 2, None


class Several(nn.Module):
    """Layers that each program uses some of."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        for name in ("first", "second", "third", "unused"):
            setattr(self, name, nn.Parameter(torch.rand(3, generator=generator)))


def chain(net):
    """One op after another."""
    h = net.first * 1
    for _ in range(6):
        h = h + 1
    (h * net.third).sum().backward()


def recurrent(net):
    """A state that goes round, and one that does not."""
    h, loss = net.first, 0.0
    for _ in range(4):
        h = torch.tanh(net.second * h)
        loss = loss + h.sum()
    with torch.no_grad():
        net.third.sum()
    loss.backward()


def nested_loops(net):
    """A loop in a loop, whose first rounds alone use a parameter."""
    h = torch.zeros(3)
    for outer in range(3):
        for inner in range(3):
            h = h + (net.first if outer == inner == 0 else net.second) * inner
    h.sum().backward()


def in_place(net):
    """In-place ops, on a tensor and through views of it."""
    h = net.first * 1
    h.add_(net.second)
    part = h[:2]
    part.mul_(net.third[:2])
    filled = torch.zeros(3)
    filled[0] = h.sum()
    filled[1:].copy_(h[1:])
    for _ in range(3):
        filled = filled * 1
    filled.sum().backward()


def read_before_it_was_written(net):
    """What an op read keeps the history that it had then."""
    h = net.first * 1
    early = h.sum()
    filled = torch.zeros(3)
    kept = filled + 1
    h.mul_(net.second)
    filled.copy_(net.third)
    (early + kept.sum()).backward()


def detached_and_written(net):
    """A detached alias has no part in the history of what it shares memory with."""
    h = net.first * 1
    alias = h.detach()
    alias.add_(net.second)
    (h.relu() + 0 * alias.detach()).sum().backward()
    state = net.third * 1
    state.detach_()
    (state + net.first).sum().backward()


def views(net):
    """Views of views, in and out of no_grad."""
    h = torch.stack([net.first * 1, net.second * 1])
    with torch.no_grad():
        beside = (net.third * 1)[:1]
    a, _ = h.unbind()
    (a.reshape(3, 1).t().squeeze(0)[1:].sum() + 0 * beside.sum()).backward()


def custom_function(net):
    """A custom Function that leaves one of its inputs without a gradient."""
    h = Half.apply(net.first * 1, net.second * 1)
    (h.exp() + net.third).sum().backward()


def checkpointed(reentrant):
    """A program that recomputes a part of itself."""

    def program(net):
        h = net.first * 1
        h = checkpoint(lambda x: torch.sin(x * net.second), h, use_reentrant=reentrant)
        (h * 2).sum().backward()

    return program


def asked_for_inputs(net):
    """autograd.grad of some inputs, a backward to some inputs."""
    h = net.first * 1
    loss = (torch.exp(h) * net.second).sum()
    torch.autograd.grad(loss, [h], retain_graph=True)
    loss.backward(inputs=[net.second])


def twice(net):
    """Two runs over one graph, and one over the graph of a gradient."""
    h = (net.first * net.second).exp()
    h.sum().backward(retain_graph=True)
    (g,) = torch.autograd.grad(h.sum(), net.first, create_graph=True)
    (g * net.third).sum().backward()


def frozen_for_a_while(net):
    """What did not require grad when it was used is not reached, whatever became of it later."""
    net.second.requires_grad_(False)
    h = net.first * net.second
    net.second.requires_grad_(True)
    for _ in range(3):
        h = h * 1
    h.sum().backward()


def stepped_inside(net):
    """A hook that steps in backward, and clears."""
    optimizer = torch.optim.SGD([net.first], lr=0.1)

    def step(_):
        optimizer.step()
        optimizer.zero_grad()

    net.first.register_post_accumulate_grad_hook(step)
    (net.first.exp().exp() * net.second).sum().backward()


PROGRAMS = {
    program.__name__: program
    for program in (
        chain,
        recurrent,
        nested_loops,
        in_place,
        read_before_it_was_written,
        detached_and_written,
        views,
        custom_function,
        asked_for_inputs,
        twice,
        frozen_for_a_while,
        stepped_inside,
    )
} | {"reentrant checkpoint": checkpointed(True), "checkpoint": checkpointed(False)}


def told(program):
    """What a report says that rests on reachability."""
    net = Several()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with autograd_inspector.inspect() as inspection:
        optimizer.zero_grad()
        program(net)
        optimizer.step()
    report = inspection.report
    capture = report.capture

    def named(tensors):
        return {capture.display_names.in_table(t) for t in tensors}

    runs = [(named(run.reached), named(run.empty), named(run.taken), named(run.stale)) for run in capture.backwards]
    rows = {row.name: row.reached for row in report.placement.rows}
    findings = [(f.rule, f.severity, f.message) for f in report.findings]
    return report, (runs, rows, findings)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("depth", [1, 2])
def test_reached(name, depth, monkeypatch):
    """Wherever the walk stops: reached leaves, rows and findings are those of the whole walk."""
    _, whole = told(PROGRAMS[name])
    monkeypatch.setattr(graph_walk, "MAX_DEPTH", depth)
    report, short = told(PROGRAMS[name])
    assert any(run.graph.truncated for run in report.capture.backwards)
    assert short == whole


@pytest.mark.parametrize("name", PROGRAMS)
def test_reached_by_the_records_alone(name, monkeypatch):
    """The records of ops need no look at `.grad` to tell which leaves the graph holds."""
    _, whole = told(PROGRAMS[name])
    monkeypatch.setattr(graph_walk, "MAX_DEPTH", 1)
    monkeypatch.setattr("autograd_inspector.capture.observers.backward.runs.Arrivals.after", lambda _: ([], []))
    _, short = told(PROGRAMS[name])
    assert short == whole


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"twice"}))
def test_the_merged_graph(name, monkeypatch):
    """Gradient goes along the same edges of the picture; only within what autograd.grad made is it guessed."""

    def drawn(report):
        names = {
            node.id: report.capture.display_names.in_table(node.tensor) if node.leaf else f"{node.name} {node.op}"
            for node in report.graph.nodes
        }
        return {(names[e.source], names[e.target]) for e in report.graph.edges if e.kind == "gradient"}

    whole, _ = told(PROGRAMS[name])
    monkeypatch.setattr(graph_walk, "MAX_DEPTH", 1)
    short, _ = told(PROGRAMS[name])
    assert drawn(short) == drawn(whole)
