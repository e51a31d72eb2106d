"""Captures of many steps: older ones become facts, the last ones and the one that fails stay whole."""

import gc
import weakref

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.capture.retention import folding
from autograd_inspector.capture.session import current
from tests.capture.observe import observe


def network():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    return net, torch.optim.Adam(net.parameters()), torch.randn(16, 4)


def train(steps, *, before=lambda step, net: None, loss_of=lambda net, x, step: net(x).pow(2).mean()):
    """Plain training; returns the model."""
    net, optimizer, x = network()
    for step in range(1, steps + 1):
        before(step, net)
        optimizer.zero_grad()
        loss_of(net, x, step).backward()
        optimizer.step()
    return net


def sizes(capture):
    """How many records of each kind there are."""
    names = (
        "ops",
        "tensors",
        "sites",
        "calls",
        "regions",
        "backwards",
        "steps",
        "events",
        "requires_grad_changes",
        "retained_graphs",
    )
    return {name: len(getattr(capture, name)) for name in names}


def test_few_steps_are_not_folded():
    """As many steps as are kept whole are all there, with a history that says so."""
    capture = observe(train, folding.WHOLE + 1)
    assert len(capture.steps) == len(capture.backwards) == capture.history.steps == folding.WHOLE + 1
    assert capture.history.folded == 0


def test_the_records_of_100_and_of_300_steps_are_equally_many():
    """What is kept does not grow with the number of steps, nor does what the open capture holds."""
    held = []

    def look(step, net):
        recording = current().recording
        if step in {100, 300}:
            held.append((recording.kept_records(), len(recording.registry.storages)))
            assert len(recording.registry.by_address) <= recording.registry.entries.kept

    long = observe(lambda: train(300, before=look))
    assert sizes(observe(train, 100)) == sizes(long)
    assert held[0] == held[1]
    assert (long.history.steps, long.history.folded, len(long.steps)) == (300, 298, 2)


def test_an_optimizer_made_for_each_step():
    """Those that are gone are forgotten, though each is made where the last one was."""
    held = []
    w = torch.ones(2, requires_grad=True)

    def program():
        for step in range(300):
            optimizer = torch.optim.SGD([w], lr=0.1)
            optimizer.zero_grad()
            (w * 2).sum().backward()
            optimizer.step()
            if step in {100, 290}:
                held.append(current().recording.kept_records())

    capture = observe(program)
    assert held[0] == held[1]
    assert len(capture.placement.optimizers) <= 4


def test_the_last_steps_are_recorded_as_in_a_short_capture():
    """The last two of 40 steps have the ops, graphs and step records that the last two of 6 have."""
    long, short = observe(train, 40), observe(train, 6)
    for capture in (long, short):
        assert [s.op for s in capture.steps] == [i for i, op in enumerate(capture.ops) if op.name == "Adam.step"]
    count = len(long.ops) - [op.name for op in long.ops].index("linear")
    assert [op.name for op in long.ops][-count:] == [op.name for op in short.ops][-count:]
    ours, theirs = long.graph_of(long.backwards[-1]), short.graph_of(short.backwards[-1])
    assert [(n.name, n.edges) for n in ours.nodes] == [(n.name, n.edges) for n in theirs.nodes]
    assert [long.ops[n.op].name if n.op >= 0 else "" for n in ours.nodes] == [
        short.ops[n.op].name if n.op >= 0 else "" for n in theirs.nodes
    ]
    assert [t.names[0] for t in long.tensors if t.kind == "parameter"] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert [s.status for n in ours.nodes for s in n.saved] == [s.status for n in theirs.nodes for s in n.saved]


def test_every_index_of_a_folded_capture_points_into_it():
    """Ops, tensors, calls, regions and sites are where the records say they are."""
    capture = observe(train, 60)
    assert [op.index for op in capture.ops] == list(range(len(capture.ops)))
    assert [t.id for t in capture.tensors] == list(range(len(capture.tensors)))
    assert [call.id for call in capture.calls] == list(range(len(capture.calls)))
    for op in capture.ops:
        assert all(0 <= t < len(capture.tensors) for t in (*op.inputs, *op.outputs))
        assert len(op.inputs) == len(op.versions) or not op.versions
        assert -1 <= op.call < len(capture.calls)
        assert 0 <= op.region < len(capture.regions)
    for record in capture.tensors:
        assert record.birth < 0 or record.id in capture.ops[record.birth].outputs
    assert {p.tensor for step in capture.steps for p in step.parameters} == set(capture.optimized)


def test_the_step_that_raises_is_explained():
    """An in-place edit in step 50 is found with saver, culprit and versions, as if the capture had begun just then."""

    def loss_of(net, x, step):
        hidden = net[0](x).sigmoid()
        loss = hidden.pow(2).mean()
        if step == 50:
            hidden.mul_(2)
        return loss

    with pytest.raises(RuntimeError, match="inplace"), autograd_inspector.inspect() as inspection:
        train(60, loss_of=loss_of)
    report = inspection.report
    (finding,) = [f for f in report.findings if f.severity == "error"]
    assert finding.rule == "AG201"
    assert next((place.role, place.source) for place in finding.locations) == ("modified here", "hidden.mul_(2)")
    assert (report.history.steps, report.history.unfinished) == (49, True)


def test_a_tensor_of_an_early_step_keeps_its_story():
    """A mask made in step 3 and edited in step 50 is still called `mask`, and the line that made it is known."""
    masks = {}

    def loss_of(net, x, step):
        if step == 3:
            mask = torch.ones(16, 8).cumsum(0)
            masks["it"] = mask
        hidden = net[0](x)
        loss = (hidden * masks["it"]).mean() if step > 3 else hidden.mean()
        if step == 50:
            masks["it"].fill_(0)
        return loss

    with pytest.raises(RuntimeError, match="inplace"), autograd_inspector.inspect() as inspection:
        train(60, loss_of=loss_of)
    capture = inspection.report.capture
    (finding,) = [f for f in inspection.report.findings if f.rule == "AG201"]
    assert "mask" in finding.message
    (mask,) = [t for t in capture.tensors if t.variable == "mask"]
    assert capture.ops[mask.birth].name == "cumsum"
    assert [capture.ops[capture.tensors[t].birth].name for t in capture.ops[mask.birth].inputs] == ["ones"]


def test_a_parameter_replaced_early_is_found_after_many_steps():
    """The line that replaced a parameter in step 3 is told after 60 steps."""

    def before(step, net):
        if step == 3:
            net[2].weight = nn.Parameter(torch.ones(1, 8))

    with autograd_inspector.inspect() as inspection:
        train(60, before=before)
    found = {f.rule: f for f in inspection.report.findings}
    assert "AG405" in found
    assert any("nn.Parameter(torch.ones" in place.source for place in found["AG405"].locations)


def test_forgotten_zero_grad_is_told_as_what_it_is():
    """Gradients add up from step to step; it is not said that they were there when the capture began."""

    def program():
        net, optimizer, x = network()
        for _ in range(40):
            net(x).pow(2).mean().backward()
            optimizer.step()

    with autograd_inspector.inspect() as inspection:
        program()
    (finding,) = inspection.report.findings
    assert finding.rule == "AG305"
    assert "of the previous step" in finding.message
    assert "when the capture began" not in finding.message


def test_a_sum_that_keeps_every_graph_is_found():
    """`total += loss` over 60 steps is a leak, and the message does not claim that it is one of three steps."""
    totals = [0.0]

    def loss_of(net, x, step):
        loss = net(x).pow(2).mean()
        totals[0] = totals[0] + loss
        return loss

    with autograd_inspector.inspect() as inspection:
        train(60, loss_of=loss_of)
    (finding,) = inspection.report.findings
    assert finding.rule == "AG502"
    assert "more and more steps" in finding.message


HEALTHY = {}


def healthy(program):
    HEALTHY[program.__name__] = program
    return program


@healthy
def gan():
    """Two optimizers take turns; the critic steps three times."""
    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Linear(4, 1)
    first = torch.optim.Adam(critic.parameters())
    second = torch.optim.Adam(generator.parameters())
    for _ in range(40):
        for _ in range(3):
            first.zero_grad()
            fake = generator(torch.randn(8, 2)).detach()
            (critic(fake).mean() - critic(torch.randn(8, 4)).mean()).backward()
            first.step()
        second.zero_grad()
        (-critic(generator(torch.randn(8, 2))).mean()).backward()
        second.step()


@healthy
def accumulation():
    """Four backwards a step."""
    net, optimizer, x = network()
    for _ in range(40):
        optimizer.zero_grad()
        for _ in range(4):
            (net(x).pow(2).mean() / 4).backward()
        optimizer.step()


@healthy
def heads_in_turn():
    """A head that is trained every tenth step only."""
    torch.manual_seed(0)
    body, often, rare = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*body.parameters(), *often.parameters(), *rare.parameters()])
    x = torch.randn(8, 4)
    for step in range(45):
        optimizer.zero_grad()
        head = rare if step % 10 == 9 else often
        head(body(x)).pow(2).mean().backward()
        optimizer.step()


@healthy
def average():
    """An exponential average of the weights, and evaluation with it every few steps."""
    net, optimizer, x = network()
    mean = [p.detach().clone() for p in net.parameters()]
    for step in range(40):
        optimizer.zero_grad()
        net(x).pow(2).mean().backward()
        optimizer.step()
        with torch.no_grad():
            for kept, p in zip(mean, net.parameters(), strict=True):
                kept.lerp_(p, 0.1)
            if step % 7 == 0:
                net(x).mean().item()


@healthy
def carried_state():
    """Truncated backpropagation through time: the hidden state is detached after each step."""
    torch.manual_seed(0)
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
    state = torch.zeros(2, 8)
    for _ in range(40):
        optimizer.zero_grad()
        for _ in range(3):
            state = cell(torch.randn(2, 4), state)
        head(state).pow(2).mean().backward()
        optimizer.step()
        state = state.detach()


@healthy
def optimizer_in_backward():
    """One optimizer a parameter, stepped by a hook while backward runs."""
    net, _, x = network()
    optimizers = {p: torch.optim.SGD([p], lr=0.01) for p in net.parameters()}

    def hook(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(hook)
    for _ in range(40):
        net(x).pow(2).mean().backward()


@healthy
def new_modules_and_optimizers():
    """A loss module and an inner optimizer made anew in each step."""
    net, optimizer, x = network()
    for _ in range(40):
        fast = nn.Linear(4, 1)
        inner = torch.optim.SGD(fast.parameters(), lr=0.1)
        for _ in range(2):
            inner.zero_grad()
            nn.MSELoss()(fast(x), torch.ones(16, 1)).backward()
            inner.step()
        optimizer.zero_grad()
        nn.MSELoss()(net(x), fast(x).detach()).backward()
        optimizer.step()


@healthy
def line_search():
    """LBFGS: several forwards and backwards inside one step."""
    net, _, x = network()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(40):
        optimizer.step(closure)


@healthy
def frozen_then_thawed():
    """A body that is frozen for the first steps."""
    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    body.requires_grad_(False)
    optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()])
    for step in range(60):
        if step == 30:
            body.requires_grad_(True)
        optimizer.zero_grad()
        head(body(torch.randn(8, 4))).pow(2).mean().backward()
        optimizer.step()


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_program_stays_silent(name):
    """Folding raises no alarm that the whole capture would not raise."""
    with autograd_inspector.inspect() as inspection:
        HEALTHY[name]()
    report = inspection.report
    assert report.history.folded > 0
    assert [f.message for f in report.findings if f.severity != "info"] == []
    assert [note for note in report.notes if "failed" in note or "stopped" in note] == []


def test_new_modules_and_optimizers_in_each_step_do_not_pile_up():
    """What the program makes anew and drops in each step is dropped from the capture too."""

    def program(steps):
        net, optimizer, x = network()
        for step in range(1, steps + 1):
            inner = torch.optim.SGD(nn.Linear(4, 1).parameters(), lr=0.1)
            inner.zero_grad()
            optimizer.zero_grad()
            nn.MSELoss()(net(x), torch.ones(16, 1)).backward()
            optimizer.step()
            if step % 20 == 0:
                gc.collect()  # Optimizers are part of cycles: until they are collected the program has them.

    gc.collect()
    gc.disable()  # When it runs by itself depends on the tests before, and what dies between the last folds on that.
    try:
        short, long = observe(program, 60), observe(program, 180)
    finally:
        gc.enable()
    assert sum(sizes(long).values()) < 1.5 * sum(sizes(short).values())
    assert len(long.placement.optimizers) < 45
    assert len(long.models) < 45


def test_nothing_of_an_old_step_is_kept_alive():
    """Activations of every step die as they do without a capture."""
    dead = []

    def loss_of(net, x, step):
        hidden = net[0](x)
        dead.append(weakref.ref(hidden))
        return hidden.pow(2).mean()

    with autograd_inspector.inspect():
        train(40, loss_of=loss_of)
        gc.collect()
        assert [ref() for ref in dead] == [None] * 40


def test_the_first_step_that_made_a_nan_is_kept():
    """With values=True the op of step 20 that made the first NaN is named after 60 steps."""

    def loss_of(net, x, step):
        out = net(x)
        return (out - out).div(out - out).mean() if step == 20 else out.pow(2).mean()

    with autograd_inspector.inspect(values=True) as inspection:
        train(60, loss_of=loss_of)
    found = [f for f in inspection.report.findings if f.rule == "AG304"]
    assert found
    assert any("div" in f.message for f in found)
