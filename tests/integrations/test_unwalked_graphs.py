"""A flight recorder walks no graph like an earlier one, and explains a step that raises all the same."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograd_inspector.capture.graph_walk.unwalked import Repeats
from autograd_inspector.capture.graph_walk.walk import Walk
from autograd_inspector.integrations.stepwise import Stepwise
from autograd_inspector.model.graphs import below

FAILS = 9


class Net(nn.Module):
    """A module whose hidden value a subclass may spoil in one step."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 1)
        self.step = 0

    def hidden(self, x):
        return torch.sigmoid(self.body(x))

    def forward(self, x):
        self.step += 1
        return self.head(self.hidden(x)).sum()


class Modified(Net):
    def hidden(self, x):
        h = torch.sigmoid(self.body(x))
        if self.step == FAILS:
            h.mul_(2)
        return h


class Carried(Net):
    """Every step goes through a result of its own; the ninth goes through that of the eighth."""

    kept = None

    def hidden(self, x):
        fresh = torch.sigmoid(self.body(x))
        h = self.kept if self.step == FAILS else fresh
        self.kept = fresh
        return h


class Hooked(Net):
    def hidden(self, x):
        h = torch.sigmoid(self.body(x))
        h.register_hook(self.refuse)
        return h

    def refuse(self, gradient):
        if self.step == FAILS:
            raise ValueError("no gradient wanted")
        return gradient


class Checkpointed(Net):
    def hidden(self, x):
        return checkpoint(lambda y: torch.sigmoid(self.body(y)), x, use_reentrant=False)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Custom(Net):
    def hidden(self, x):
        return Doubled.apply(self.body(x))


class Uneven(Net):
    def hidden(self, x):
        h = torch.sigmoid(self.body(x))
        return h.relu() if self.step == FAILS else h


class Routed(Modified):
    """Another of two parts takes part from the fourth step on, by as many calls."""

    def __init__(self):
        super().__init__()
        self.other = nn.Linear(3, 4)

    def hidden(self, x):
        self.body, self.other = (self.other, self.body) if self.step == 4 else (self.body, self.other)
        return super().hidden(x)


@pytest.fixture
def walked(monkeypatch):
    """The number of walks that record a graph."""
    roots, record = [], Walk.record

    def counted(self, ends):
        roots.append(ends)
        return record(self, ends)

    monkeypatch.setattr(Walk, "record", counted)
    return roots


def recording(folder):
    """A flight recorder, whose steps share a capture."""
    recorder = Stepwise(lambda *_: None, {"first": 0, "formats": ()}, told_of_rest=True)
    recorder.start(folder, main=True)
    return recorder


def train(recorder, net, steps, *, micro=1, **backward):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    torch.manual_seed(0)
    with recorder:
        for step in range(1, steps + 1):
            recorder.begin(step, [net], [optimizer])
            for _ in range(micro):
                net(torch.randn(2, 3)).backward(**backward)
            optimizer.step()
            optimizer.zero_grad()
            recorder.end()


def failed(folder, net, error):
    """The report of the step that raises."""
    recorder = recording(folder)
    with pytest.raises((RuntimeError, ValueError), match=error):
        train(recorder, net, FAILS)
    return recorder.report


def test_the_first_two_graphs_are_walked(tmp_path, walked):
    """The second step is like the first; all that follow are like the second."""
    train(recording(tmp_path), Net(), 10)
    assert len(walked) == 2


def test_a_step_of_other_calls_is_walked(tmp_path, walked):
    """Other calls than ever came before the backward of one step."""
    train(recording(tmp_path), Uneven(), FAILS + 3)
    assert len(walked) == 2 + 1


def test_micro_batches_repeat_the_last_one(tmp_path, walked):
    """The first of a step follows an optimizer's step, so it is like the first of the step before."""
    train(recording(tmp_path), Net(), 5, micro=4)
    assert len(walked) == 3


@pytest.mark.parametrize("net", [Checkpointed, Custom])
def test_graphs_that_run_the_programs_own_code_are_walked(tmp_path, walked, net):
    """What recomputation and a custom backward do is told node by node."""
    train(recording(tmp_path), net(), 6)
    assert len(walked) == 6


def test_graphs_that_are_kept_are_walked(tmp_path, walked):
    """A later run may go through them again."""
    train(recording(tmp_path), Net(), 6, retain_graph=True)
    assert len(walked) == 6


@pytest.mark.parametrize(
    ("net", "error"), [(Modified, "modified by an inplace"), (Carried, "second time"), (Hooked, "no gradient wanted")]
)
def test_a_late_failure_is_explained_as_one_whose_graph_was_walked(tmp_path, net, error, monkeypatch):
    """Findings, lines and the node that failed are those of a recorder that walks the graph of each step."""
    reports = []
    for leaves in (Repeats.leaves, lambda *_: None):
        monkeypatch.setattr(Repeats, "leaves", leaves)
        reports.append(failed(tmp_path, net(), error))
    late, whole = reports
    told, known = ([(f.rule, f.severity, f.message, f.locations) for f in each.findings] for each in reports)
    assert told == known
    marked, as_walked = ([(n.name, n.op) for n in each.capture.nodes if n.failed] for each in reports)
    assert marked == as_walked
    assert [any("were not walked" in note for note in each.notes) for each in (late, whole)] == [True, False]


def test_runs_that_were_not_walked_reach_the_leaves_that_the_calls_tell_of(tmp_path):
    """Whatever a run that was walked had reached."""
    capture = failed(tmp_path, Modified(), "modified by an inplace").capture
    assert len(capture.backwards) == FAILS
    names = [{capture.tensors[t].names[0] for t in run.reached} for run in capture.backwards]
    assert names == [{"body.weight", "body.bias", "head.weight", "head.bias"}] * FAILS
    graph = graph_of(capture, 5)
    assert {node.variable for node in graph if node.leaf} == set(capture.backwards[5].reached)
    assert all(node.told_by == "op" or node.leaf for node in graph)


def graph_of(capture, run):
    return [capture.nodes[number] for number in below(capture.nodes, capture.backwards[run].graph.roots)]


def test_a_run_of_as_many_calls_that_leads_elsewhere(tmp_path):
    """What it reached is told by its own calls, and nothing is said of what only the walked one had reached."""
    capture = failed(tmp_path, Routed(), "modified by an inplace").capture
    early, late = (set(capture.backwards[number].reached) for number in (1, 5))
    assert len(early) == len(late) == 4
    assert len(early & late) == 2
    for run in capture.backwards:
        assert {*run.empty, *run.taken, *run.stale} <= set(run.reached)
