"""Which runs have a node that is looked for."""

import random

import pytest

from autograd_inspector.model.autograd import Backward, GraphHead, Node
from autograd_inspector.model.awaited import Awaited
from autograd_inspector.model.graphs import RunGraphs, below, leaves_below


def graphs(seed):
    """Runs into a graph that grows: an edge leads to a node that was there before."""
    drawn = random.Random(seed)
    nodes = []
    for number in range(drawn.randint(5, 40)):
        children = drawn.sample(range(number), min(number, drawn.randint(0, 2)))
        variable = number if not children else -1
        nodes.append(Node(number, "", number, tuple((child, 0) for child in children), variable=variable))
    starts = sorted(drawn.choices(range(len(nodes)), k=12))
    runs = [Backward(at, "backward", at, at, 0, (), GraphHead((start,))) for at, start in enumerate(starts)]
    return drawn, nodes, runs


@pytest.mark.parametrize("seed", range(60))
def test_a_run_has_those_that_lie_below_its_roots(seed):
    """Each is met by the first run that leads to it since it is looked for, and by no other."""
    drawn, nodes, runs = graphs(seed)
    awaited, left = Awaited(RunGraphs(nodes, runs)), set()
    for place, run in enumerate(runs):
        new = drawn.sample(range(len(nodes)), drawn.randint(0, 3))
        awaited.add(new)
        left.update(new)
        met = left.intersection(below(nodes, run.graph.roots))
        assert awaited.met(place) == sorted(met)
        left -= met


@pytest.mark.parametrize("seed", range(20))
def test_leaves_below_nodes(seed):
    """Those of all nodes that an edge leads to, in whatever order one asks."""
    drawn, nodes, _ = graphs(seed)
    leaves = leaves_below(nodes)
    for start in drawn.sample(range(len(nodes)), len(nodes)):
        assert leaves.of([start]) == {n for n in below(nodes, [start]) if nodes[n].variable >= 0}


def test_what_one_run_went_through_the_next_does_not():
    """A node that no run leads to is looked for in a graph that grows: each run goes through nothing for it."""

    class Counted(list):
        read = 0

        def __getitem__(self, index):
            Counted.read += 1
            return super().__getitem__(index)

    nodes = Counted([Node(0, "", 0, ()), *(Node(n, "", n, ((n - 1, 0),) if n > 1 else ()) for n in range(1, 200))])
    runs = RunGraphs(nodes, [Backward(n, "backward", n, n, 0, (), GraphHead((n,))) for n in range(1, 200)])
    awaited = Awaited(runs)
    awaited.add([0])
    Counted.read = 0
    assert [met for place in range(199) for met in awaited.met(place)] == []
    assert Counted.read == 0
