"""What is known of each training step, whether or not its records are still there."""

import msgspec
import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.capture.retention import renumbering
from autograd_inspector.capture.retention.iterations import Iterations
from autograd_inspector.model.capture import Capture
from tests.capture.observe import observe


def train(steps, loss_of, *, parameters=None):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(parameters(net) if parameters else net.parameters(), lr=0.01)
    x = torch.randn(16, 4)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss_of(net, x, step).backward()
        optimizer.step()


def plain(net, x, step):
    return net(x).pow(2).mean()


def branched(net, x, step):
    """Step 41 takes a branch of its own."""
    out = net(x)
    if step == 41:
        out = out.exp()
    return out.pow(2).mean()


def headless(net, x, step):
    """From step 30 on the second layer is not used."""
    out = net[0](x)
    return out.pow(2).mean() if step >= 30 else net[2](net[1](out)).pow(2).mean()


@pytest.mark.parametrize("steps", [10, 60])
def test_every_step_is_counted(steps):
    """One entry a step in each column, folded or not."""
    history = observe(lambda: train(steps, plain)).history
    assert (history.steps, history.unfinished, len(history)) == (steps, False, steps)
    assert list(history.backwards) == [1] * steps
    assert list(history.gradients()) == list(history.written()) == list(history.parameters) == [4] * steps
    assert len(set(history.nodes)) == len(set(history.saved_bytes)) == len(set(history.graph)) == 1


def test_equal_steps_take_no_room():
    """The columns of 300 equal steps have as many entries as those of 30."""
    short, long = (observe(lambda n=n: train(n, plain)).history for n in (30, 300))
    assert len(long.nodes.values) == len(short.nodes.values) == 1
    assert len(msgspec.json.encode(long)) < len(msgspec.json.encode(short)) + 40


def test_folded_steps_have_the_facts_that_whole_ones_have():
    """Facts do not depend on when they were taken: 12 steps unfolded are the first 12 of 60."""
    short, long = (observe(lambda n=n: train(n, branched)).history.records() for n in (12, 60))
    assert short == long[:12]


def test_a_branch_that_was_not_taken_before_is_told():
    """The step, the op and the line that is new; the steps after it are as those before."""
    capture = observe(lambda: train(60, branched))
    (change,) = capture.history.changes
    assert (change.step, change.kind, change.op) == (41, "graph", "exp")
    assert capture.place(change.site).source == "out = out.exp()"
    assert [n for n, graph in enumerate(capture.history.graph, 1) if graph] == [41]
    nodes = list(capture.history.nodes)
    assert nodes[40] == nodes[0] + 1
    assert set(nodes[:40] + nodes[41:]) == {nodes[0]}


def test_parameters_that_lose_their_gradient_are_told():
    """Which ones, from which step on; who does not move is counted."""
    capture = observe(lambda: train(60, headless))
    (change,) = [change for change in capture.history.changes if change.kind == "gradients"]
    assert change.step == 30
    assert [capture.display_names.in_table(t) for t in change.lost] == ["net.2.weight", "net.2.bias"]
    assert list(capture.history.written()) == [4] * 29 + [2] * 31


def test_evaluation_and_accumulation_are_no_changes():
    """Ops without a graph change no graph, and a second backward at the same line is none either."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(8, 4)
        for step in range(40):
            optimizer.zero_grad()
            for _ in range(2 if step % 5 else 3):
                net(x).pow(2).mean().backward()
            optimizer.step()
            if step % 7 == 6:
                with torch.no_grad():
                    net(x).tanh().mean().item()

    history = observe(program).history
    assert history.changes == ()
    assert set(history.backwards) == {2, 3}
    assert set(history.graph) == {0}


def test_the_step_that_raised_is_the_last_entry():
    """It is unfinished, and what it did until then is counted."""

    def loss_of(net, x, step):
        if step == 30:
            raise ValueError("no data")
        return net(x).pow(2).mean()

    with pytest.raises(ValueError, match="no data"), autograd_inspector.inspect() as inspection:
        train(40, loss_of)
    history = inspection.report.history
    assert (history.steps, history.unfinished) == (29, True)
    assert list(history.backwards)[-2:] == [1, 0]


def test_a_learning_rate_of_zero_writes_nothing():
    """The first step of a warm-up has gradients and writes no parameter."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            optimizer.param_groups[0]["lr"] = 0.0 if step == 0 else 0.1
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    history = observe(program).history
    assert list(history.written()) == [0, 2, 2]
    assert list(history.gradients()) == [2, 2, 2]


def iterations(stepping):
    """The iterations that a sequence of steps ("a" and "b" are optimizers) falls into."""
    follower, found = Iterations(), [""]
    for name in stepping:
        if follower.stepped(ord(name)):
            found.append("")
        found[-1] += name
    return found


@pytest.mark.parametrize(
    ("stepping", "found"),
    [
        ("aaa", ["a", "a", "a"]),
        ("ababab", ["ab", "ab", "ab"]),
        ("aaab" * 3, ["a", "a", "ab", "aaab", "aaab"]),
        ("abcabc", ["abc", "abc"]),
    ],
)
def test_an_iteration_ends_where_its_first_optimizer_steps_again(stepping, found):
    """A GAN's two optimizers belong to one iteration; a critic that steps thrice waits for its generator."""
    assert iterations(stepping) == found


def test_an_optimizer_that_stops_stepping_is_not_waited_for_for_ever():
    """After a warm-up with two optimizers one goes on alone: its iterations become one step each."""
    found = iterations("ab" * 3 + "a" * 60)
    assert found[:3] == ["ab"] * 3
    assert found[-20:] == ["a"] * 20


REFERENCES = {"site", "definition", "step", "factors", "returns", "stores", "made", "split", "waiting", "condition"}
"""Fields whose numbers mean no record that folding takes away."""
COUNTS = {
    "version", "versions", "before", "after", "storage", "offset", "extent", "nbytes", "allocated", "version_before",
    "version_after", "gradient_before", "gradient_after", "seq", "hooks", "saved_version", "current_version", "nth",
    "group", "stepped_by", "steps", "folded", "untold", "more", "nan", "inf", "shape", "traits",
    "first_seq", "last_seq", "again", "saved_groups", "own_groups", "given", "unmatched", "left",
    "wrapper", "world", "times", "peer", "seconds", "sampler", "epoch", "shard", "parts", "digest", "digests", "graphs",
    "result", "order", "subset", "spared", "count", "written", "places", "seed", "begins", "ends",
}  # fmt: skip
"""Fields whose numbers are no references at all."""


def test_no_reference_is_forgotten_when_a_folded_capture_is_numbered_anew():
    """Each integer field of a record that is renumbered is in the table, or known to be no reference."""
    for kind, fields in renumbering.FIELDS.items():
        numbers = {
            field.name
            for field in msgspec.structs.fields(kind)
            if "int" in str(field.type) and "bool" not in str(field.type)
        }
        assert numbers - fields.keys() - REFERENCES - COUNTS == set(), kind


def test_a_report_of_before_steps_were_counted_is_read():
    """JSON without a history has an empty one; a history survives the way through JSON."""
    capture = observe(lambda: train(60, branched))
    text = msgspec.json.encode(capture)
    assert msgspec.json.decode(text, type=Capture).history == capture.history
    older = msgspec.json.decode(text)
    del older["history"]
    assert len(msgspec.json.decode(msgspec.json.encode(older), type=Capture).history) == 0


def test_one_line_a_step_as_a_data_frame():
    """to_dataframe() has what records() has; both count steps from 1."""
    pandas = pytest.importorskip("pandas")
    history = observe(lambda: train(60, branched)).history
    frame = history.to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.to_dict("records") == history.records()
    assert frame.loc[frame["graph"] > 0, "step"].tolist() == [41]


def test_ops_of_folded_steps_count():
    """A loop of sixty steps has sixty times the calls of one, whatever of them is kept."""

    def observed(steps: int) -> int:
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        with autograd_inspector.inspect() as inspection:
            for _ in range(steps):
                opt.zero_grad()
                net(torch.ones(2, 3)).sum().backward()
                opt.step()
            torch.ones(1)
        report = inspection.report
        assert f"{report.capture.observed_ops:,} ops observed" in repr(report)
        return report.capture.observed_ops

    one, two = observed(1), observed(2)
    assert observed(60) == one + 59 * (two - one)
