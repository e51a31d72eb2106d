"""Graphs that several runs of the engine go through: each node is recorded once, and each run has its whole graph."""

from __future__ import annotations

import random
import threading
from contextlib import suppress

import pytest
import torch
from msgspec.structs import replace
from torch import nn

from autograd_inspector.rules import findings_of

from .full_walk import FullWalks, same
from .observe import observe


@pytest.fixture
def full(monkeypatch):
    """Each walk is compared with one that knows of no earlier one."""
    return FullWalks(monkeypatch)


def unrolled(steps):
    """An inner loop whose graph grows with each of its steps."""
    w = torch.full((4,), 0.5, requires_grad=True)

    def program():
        p = w
        for _ in range(steps):
            (gradient,) = torch.autograd.grad((p * p).sum(), p, create_graph=True)
            p = p - 0.1 * gradient
        p.sum().backward()

    return program


def test_a_graph_that_grows_is_recorded_once(full):
    """Each run tells of the whole graph, and no node is in the capture twice."""
    capture = observe(unrolled(12))
    keys = [(node.seq, node.name) for node in capture.nodes if node.variable < 0]
    assert len(keys) == len(set(keys))
    assert [len(capture.graph_of(run).nodes) for run in capture.backwards] == [
        len(graph.nodes) for graph in full.graphs
    ]
    assert len(capture.nodes) < 2 * len(full.graphs[-1].nodes)
    assert [run.reached for run in capture.backwards][-1] == (0,)


def test_a_walk_stops_at_what_is_known(full):
    """It goes as far as the nodes that are new, and looks at the first ones of the others alone."""
    observe(unrolled(40))
    assert full.stops[0] == 0
    assert 0 < max(full.stops) < 12


def test_what_a_backward_freed_is_looked_at_again(full):
    """Two losses over one trunk, the second after the first has freed it: the failed run has nothing saved in it."""
    x = torch.ones(3, requires_grad=True)

    def program():
        trunk = x.exp()
        trunk.sum().backward()
        with suppress(RuntimeError):
            (trunk * 2).sum().backward()

    capture = observe(program)
    first, second = map(capture.graph_of, capture.backwards)
    assert [len(node.saved) for node in first.nodes if node.name == "ExpBackward0"] == [1]
    assert [len(node.saved) for node in second.nodes if node.name == "ExpBackward0"] == [0]


def test_what_was_modified_between_two_runs_is_looked_at_again(full):
    """The first run found the saved tensor as it was, the second one, which does not need it, modified."""
    x = torch.ones(3, requires_grad=True)

    def program():
        h = x.exp()
        k = h * 2
        k.sum().backward(retain_graph=True)
        h.add_(1)
        torch.autograd.grad((k * 1).sum(), k, retain_graph=True)

    capture = observe(program)
    for run, status in zip(capture.backwards, ("valid", "modified"), strict=True):
        (saved,) = [s for n in capture.graph_of(run).nodes for s in n.saved if n.name == "ExpBackward0"]
        assert saved.status == status


def test_only_the_failed_run_has_the_node_that_failed(full):
    """A hook raises in the second of three runs through one graph."""
    x = torch.ones(3, requires_grad=True)

    def program():
        h = x.exp()
        h.sum().backward(retain_graph=True)
        handle = h.register_hook(lambda gradient: gradient.missing)
        with suppress(AttributeError):
            (h * 2).sum().backward(retain_graph=True)
        handle.remove()
        (h * 3).sum().backward()

    capture = observe(program)
    failed = [[node.name for node in capture.graph_of(run).nodes if node.failed] for run in capture.backwards]
    assert failed == [[], ["ExpBackward0"], []]


def test_threads_whose_nodes_have_the_same_numbers(full):
    """Sequence numbers are a thread's own: of two graphs made by two threads each run has its own."""
    net = nn.Linear(2, 2)
    made = []

    def forward(scale):
        made.append(net(torch.full((1, 2), scale)).tanh().sum())

    def program():
        for scale in (1.0, 2.0):
            thread = threading.Thread(target=forward, args=(scale,))
            thread.start()
            thread.join()
        for loss in made:
            loss.backward(retain_graph=True)

    program_runs = observe(program)
    stored = [
        {saved.storage for node in program_runs.graph_of(run).nodes for saved in node.saved}
        for run in program_runs.backwards
    ]
    assert stored[0] != stored[1]


class Programs:
    """Random programs over one graph that grows: ops, runs of every kind, edits of what was saved."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __call__(self) -> None:
        choose = self._random
        weights = [torch.full((3,), 0.5 + number, requires_grad=True) for number in range(3)]
        made = [weight * 1 for weight in weights]
        for _ in range(40):
            action = choose.choice([self._op, self._op, self._op, self._run, self._run, self._edit])
            with suppress(RuntimeError):
                action(made, weights)

    def _op(self, made, weights):
        choose = self._random
        one, other = choose.choice(made[-6:]), choose.choice([*made[-6:], *weights])
        kinds = (
            lambda: one * other,
            lambda: one + other,
            one.tanh,
            one.exp,
            lambda: torch.cat([one, other])[:3],
            lambda: one.view(3, 1).squeeze(1),
            lambda: nn.functional.linear(one, other.unsqueeze(0)).expand(3),
            lambda: torch.utils.checkpoint.checkpoint(lambda t: t.sin() * other, one, use_reentrant=False),
        )
        made.append(choose.choice(kinds)())

    def _run(self, made, weights):
        choose = self._random
        loss = choose.choice(made[-4:]).sum()
        keep = {"retain_graph": choose.random() < 0.8, "create_graph": choose.random() < 0.4}
        inputs = [choose.choice([*made[-8:], *weights])]
        if choose.random() < 0.5:
            found = torch.autograd.grad(loss, inputs, allow_unused=True, **keep)
            made += [gradient * 1 for gradient in found if gradient is not None and gradient.requires_grad]
        elif choose.random() < 0.5:
            loss.backward(**keep)
        else:
            loss.backward(inputs=inputs, **keep)

    def _edit(self, made, weights):
        choose = self._random
        tensor = choose.choice(made[-6:])
        choose.choice((lambda: tensor.mul_(0.5), lambda: tensor.data.mul_(0.5), lambda: tensor.detach().add_(0.1)))()


@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
@pytest.mark.parametrize("start", range(0, 60, 10))
def test_what_a_walk_finds_is_what_a_full_one_would(full, start):
    """Of every run of random programs, all that is said of each node of its graph, whatever later runs found."""
    for seed in range(start, start + 10):
        full.graphs.clear()
        capture = observe(Programs(seed))
        for run, graph in zip(capture.backwards, full.graphs, strict=True):
            assert run.error or same(capture.graph_of(run), graph)
    assert sum(stops > 0 for stops in full.stops) > 20


@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
@pytest.mark.parametrize("start", range(0, 60, 10))
def test_findings_are_those_of_graphs_that_share_nothing(start):
    """Rules that look at each node once conclude what they do where each run has a graph of its own."""
    told = 0
    for seed in range(start, start + 10):
        capture = observe(Programs(seed))
        found = findings_of(capture)
        told += len(found[0])
        assert found == findings_of(apart(capture))
    assert told > 10


def apart(capture):
    """The same capture, each run with nodes of its own."""
    nodes, runs = [], []
    for run in capture.backwards:
        graph, first = capture.graph_of(run), len(nodes)
        nodes += [
            replace(n, index=first + n.index, edges=tuple((first + child, slot) for child, slot in n.edges))
            for n in graph.nodes
        ]
        runs.append(replace(run, graph=replace(run.graph, roots=tuple(first + root for root in graph.roots))))
    return replace(capture, nodes=tuple(nodes), backwards=tuple(runs))
