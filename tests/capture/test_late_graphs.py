"""Graphs that are indexed only when a later walk may meet them again: no report tells when that was."""

from __future__ import annotations

from contextlib import suppress

import pytest
import torch
from msgspec.structs import replace
from torch import nn

from autograd_inspector.capture.recording.late_graphs import LateGraph, LateGraphs
from autograd_inspector.capture.recording.recorded_nodes import Recorded

from .observe import observe


def graph(first, count):
    """A chain of nodes, which ends in the root."""
    numbers = range(first, first + count)
    return LateGraph(numbers, [0] * count, (numbers[-1],))


def test_the_last_graph_may_still_have_what_it_saved():
    """Only a run through all of it, from its own roots, frees that."""
    late = LateGraphs()
    assert not late.unspent
    late.add(graph(0, 3))
    assert late.unspent
    assert not late.spend((1,))
    assert late.unspent
    assert late.spend((2,))
    assert not late.unspent


def test_graphs_are_taken_once():
    """The oldest comes first, and none is left."""
    late = LateGraphs()
    for first in (0, 3):
        late.add(graph(first, 3))
        late.spend((first + 2,))
    assert [taken.roots for taken in late.take()] == [(2,), (5,)]
    assert late.take() == []


def test_folding_forgets_graphs_whole():
    """One of which nothing is kept goes; one that is kept in part has to be indexed first."""
    late = LateGraphs()
    for first in (0, 3):
        late.add(graph(first, 3))
        late.spend((first + 2,))
    assert not late.fold({3, 4, 5})
    assert late.fold({3, 5})
    assert [taken.roots for taken in late.take()] == [(5,)]


def training():
    net, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.ones(2, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()


def retained():
    """The second run meets the graph of the first, and a write in between."""
    w = torch.ones(3, requires_grad=True)
    hidden = w.exp()
    hidden.sum().backward(retain_graph=True)
    with torch.no_grad():
        hidden[0] = 0.0
    (hidden * 2).sum().backward()


def carried():
    """Each run but the first goes through the graph of the one before, which is freed."""
    w = torch.ones(3, requires_grad=True)
    state = torch.zeros(3)
    for _ in range(3):
        state = torch.tanh(state + w)
        state.sum().backward()


def two_losses():
    """A trunk with two heads, that runs between other graphs."""
    net, heads = nn.Linear(3, 3), (nn.Linear(3, 1), nn.Linear(3, 1))
    for _ in range(3):
        hidden = net(torch.ones(2, 3)).relu()
        heads[0](hidden).sum().backward(retain_graph=True)
        heads[1](hidden).sum().backward()


def long_run():
    """So long that its first steps are folded away."""
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.Adam([w])
    for _ in range(60):
        optimizer.zero_grad()
        (w * w).exp().sum().backward()
        optimizer.step()


def nodes_of(program):
    def failing():
        with suppress(RuntimeError):
            program()

    torch.manual_seed(0)
    capture = observe(failing)
    # Where autograd's own numbers begin differs from run to run.
    base = min(node.seq for node in capture.nodes)
    nodes = [replace(node, seq=node.seq - base if node.variable < 0 else 0) for node in capture.nodes]
    return nodes, [(run.start, run.end, run.reached, run.roots) for run in capture.backwards]


@pytest.mark.parametrize("program", [training, retained, carried, two_losses, long_run])
def test_the_same_as_indexed_at_once(monkeypatch, program):
    """All nodes and runs are those of a capture that indexes each graph when it is recorded."""
    late = nodes_of(program)
    monkeypatch.setattr(Recorded, "_highest", lambda *_: -1)
    assert late == nodes_of(program)
