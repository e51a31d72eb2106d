"""What optimizers hold, lose and never move."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograd_inspector.analysis.optimizers.early_schedulers import early_schedulers
from autograd_inspector.analysis.optimizers.frozen_while_stepping import frozen_while_stepping
from autograd_inspector.analysis.optimizers.idle_schedulers import left_behind
from autograd_inspector.analysis.optimizers.levelled_rates import levelled_rates
from autograd_inspector.analysis.optimizers.lost_state import lost_states
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.analysis.optimizers.set_aside import set_aside
from autograd_inspector.analysis.optimizers.undelivered import undelivered
from autograd_inspector.analysis.optimizers.unread_options import unread_options
from autograd_inspector.model.event import GradRead, GradWrite, RequiresGradChanged
from autograd_inspector.model.location import Location, Site
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.program_events import SchedulerMade, SchedulerStepped

from .written import Written


def changed(program, tensor, *, requires_grad, site=-1):
    """The program freezes or thaws a parameter."""
    change = RequiresGradChanged(len(program.ops), tensor, requires_grad, site)
    program.more["requires_grad_changes"] = (*program.more.get("requires_grad_changes", ()), change)


def set_in(program, number, **fields):
    """Other facts of an optimizer."""
    program.optimizers[number] = replace(program.optimizers[number], **fields)


# --- settings ---


@pytest.mark.parametrize(
    ("groups", "unread"),
    [
        (({"lr": 0.1, "lr_mult": 2.0}, {"lr": 0.1}), [("lr_mult", (0,))]),
        (({"lr": 0.1}, {"lr": 0.2}), []),
        (({"lr": 0.1, "name": "head"}, {"lr": 0.1}), []),
        (({"lr": 0.1, "frozen": True}, {"lr": 0.1}), []),
    ],
)
def test_options_that_an_optimizer_has_no_default_for(groups, unread):
    """A number that stands in some groups only; names and flags are the program's own notes."""
    program = Written()
    optimizer = program.optimizer(program.parameter())
    set_in(program, optimizer, groups=groups, steps=1)
    assert [(each.option, each.groups) for each in unread_options(program.analysis)] == unread


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        ([Location("a.py", 1, target="opt_d")], "opt_d"),
        (
            [Location("a.py", 1, source="return SGD(ps)", expression="SGD(ps)"), Location("a.py", 9, target="opt")],
            "opt",
        ),
        ([Location("a.py", 1, target="self.opts[0]")], "optimizer"),
        ([], "optimizer"),
    ],
)
def test_what_the_program_calls_an_optimizer(frames, name):
    """The variable of the statement that keeps it, past a factory's `return`."""
    program = Written()
    optimizer = program.optimizer(program.parameter())
    program.sites.append(Site(tuple(frames)))
    set_in(program, optimizer, site=len(program.sites) - 1)
    analysis = program.analysis
    assert variable(analysis, analysis.capture.placement.optimizers[optimizer]) == name


@pytest.mark.parametrize("kept", ["given a scheduler", "still steps", "no"])
def test_a_scheduler_that_goes_on_without_its_optimizer(kept):
    """Another one took over the parameters, and has no scheduler; one that has its own is no mistake."""
    program = Written()
    w = program.parameter()
    first, second = program.optimizer(w), program.optimizer(w)
    made = SchedulerMade(0, -1, first, "StepLR")
    program.step(first)
    program.step(second)
    set_in(program, second, groups=({"lr": 0.1} | ({"initial_lr": 0.1} if kept == "given a scheduler" else {}),))
    if kept == "still steps":
        program.step(first)
    stepped = SchedulerStepped(len(program.ops), -1, first, "StepLR")
    program.more["events"] = (made, stepped)
    found = [(each.optimizer.id, each.following.id, each.made) for each in left_behind(program.analysis)]
    assert found == ([(first, second, (made,))] if kept == "no" else [])


@pytest.mark.parametrize(("turns", "early"), [("SOSO", True), ("OSOS", False), ("SOS", False), ("SOO", False)])
def test_a_scheduler_that_takes_its_turn_first(turns, early):
    """It steps before the optimizer in each round, and not after the last one."""
    program = Written()
    optimizer = program.optimizer(program.parameter())
    site, events = program.site(line=7), []
    for turn in turns:
        if turn == "O":
            program.step(optimizer)
        else:
            events.append(SchedulerStepped(len(program.ops), site, optimizer, "StepLR"))
    program.more["events"] = tuple(events)
    found = [(each.stepped, each.step) for each in early_schedulers(program.analysis)]
    assert found == ([(events[0], program.steps[0])] if early else [])


# --- state ---


def steps_beginning(begun, *, optimizers=1, lines=1):
    """Steps, of one optimizer or of several, in which state of a parameter began; each loop's turn has a backward."""
    program = Written()
    w, gradient = program.parameter(), program.tensor()
    numbers = [program.optimizer(w) for _ in range(optimizers)]
    for number in numbers:
        set_in(program, number, site=program.site(line=1))
    for turn, new in enumerate(begun):
        step = program.step(numbers[turn % optimizers], line=50 + turn % lines, gradient=gradient)
        parameters = tuple(replace(p, begun=new) for p in step.parameters)
        program.steps[-1] = replace(step, parameters=parameters)
    return [(len(each.steps), each.tensors, each.renewed) for each in lost_states(program.analysis)]


def test_state_that_begins_again_in_each_step():
    """By one optimizer, or by one that the loop makes anew; state that began once is kept."""
    assert steps_beginning([True, True]) == [(2, (0,), False)]
    assert steps_beginning([True, True], optimizers=2) == [(2, (0,), True)]
    assert steps_beginning([True, False]) == []
    assert steps_beginning([True]) == []
    assert steps_beginning([True, True], lines=2) == []


def test_a_parameter_that_an_optimizer_holds_twice():
    """One step of it is one step, which began the state."""
    program = Written()
    w, gradient = program.parameter(), program.tensor()
    step = program.step(program.optimizer(w), gradient=gradient)
    (moved,) = (replace(p, begun=True) for p in step.parameters)
    program.steps[-1] = replace(step, parameters=(moved, moved))
    assert list(lost_states(program.analysis)) == []


# --- frozen ---


def frozen_run(*, steps=2, trained=True, through=False, training=True):
    """An optimizer whose only parameter is frozen after a step, and a forward of it that nothing differentiates."""
    program = Written()
    w, v, gradient = program.parameter("w"), program.parameter("v"), program.tensor()
    optimizer = program.optimizer(w)
    program.more["calls"] = (ModuleCall(0, "", "Net", training=training),)
    if trained:
        program.backward(program.call("pow", w))
        program.step(optimizer, gradient=gradient)
    changed(program, w, requires_grad=False)
    program.tensors[w] = replace(program.tensors[w], requires_grad=False)
    made = program.call("linear", program.tensor(), w)
    program.ops[-1] = replace(program.ops[-1], call=0)
    if through:
        program.call("mul", made, v)
    for _ in range(steps):
        step = program.step(optimizer)
        program.steps[-1] = replace(step, parameters=tuple(replace(p, frozen=True) for p in step.parameters))
    return [(each.optimizer.id, len(each.steps)) for each in frozen_while_stepping(program.analysis)]


def test_an_optimizer_that_steps_what_was_frozen():
    """It had trained it, and a forward in train mode leads to no graph; one that does is held for another."""
    assert frozen_run() == [(0, 2)]
    assert frozen_run(steps=1) == []
    assert frozen_run(trained=False) == []
    assert frozen_run(through=True) == []
    assert frozen_run(training=False) == []


@pytest.mark.parametrize(("moment", "reason"), [("after", "since"), ("before", None), ("library", "library")])
def test_what_speaks_for_it_that_a_resting_parameter_was_to_learn(moment, reason):
    """It was frozen after the optimizer was made, or by installed code; the program's own freezing before is meant."""
    program = Written()
    w, v = program.parameter("w", grad=False), program.parameter("v")
    program.sites.append(Site((Location("lib.py", 1, library=True), Location("a.py", 2))))
    program.call("pow", v)
    site = len(program.sites) - 2 if moment == "library" else program.site()
    changed(program, w, requires_grad=False, site=site)
    optimizer = program.optimizer(w, v)
    set_in(program, optimizer, created_at=0 if moment == "after" else len(program.ops))
    program.steps_with(optimizer, {v: program.tensor()})
    found = [(each.reason, each.tensors) for each in set_aside(program.analysis)]
    assert found == ([(reason, (w,))] if reason else [])


# --- copies ---


@pytest.mark.parametrize("then", ["nothing", "copied back", "evaluated", "one step"])
def test_copies_that_are_stepped_and_never_go_back(then):
    """Master weights: their steps move them, and the model goes on computing with what it had, unless they are used."""
    program = Written()
    w, master, gradient = program.parameter("w"), program.parameter("master"), program.tensor()
    optimizer = program.optimizer(master)
    program.more["owners"] = {w: 0}
    for turn in range(1 if then == "one step" else 2):
        program.backward(program.call("pow", w))
        read = GradRead(len(program.ops), w, gradient, -1, leaf=True)
        given = program.call("to", gradient, grad=False)
        write = GradWrite(len(program.ops), master, given, -1)
        program.more["grad_reads"] = (*program.more.get("grad_reads", ()), read)
        program.more["grad_writes"] = (*program.more.get("grad_writes", ()), write)
        program.step(optimizer, gradient=given)
        if then == "copied back":
            program.write("copy_", w, master)
        if then == "evaluated" and not turn:
            program.call("norm", master, shape=(), grad=False)
    program.backward(program.call("pow", w))
    found = [(each.parameters, each.copies, len(each.steps)) for each in undelivered(program.analysis)]
    assert found == ([((w,), (master,), 2)] if then == "nothing" else [])


@pytest.mark.parametrize(
    ("given", "rates", "later", "levelled"),
    [
        ((0.0, 0.1), (0.04, 0.04), (0.05, 0.05), True),
        ((0.0, 0.1), (0.0, 0.1), (0.0, 0.05), False),
        ((0.1, 0.1), (0.04, 0.04), (0.05, 0.05), False),
        ((0.01, 0.1), (0.0, 0.0), (0.01, 0.1), False),
        ((0.01, 0.1), (0.04, 0.04), (0.01, 0.1), False),
        ((-1.0, 0.1), (0.04, 0.04), (0.05, 0.05), False),
    ],
)
def test_rates_of_groups_that_a_scheduler_makes_one(given, rates, later, levelled):
    """Different before, one for all from then on, and not zero; a rate that is a tensor is not known."""
    program = Written()
    w, v = program.parameter("w"), program.parameter("v")
    optimizer = program.optimizer(w, v)
    set_in(program, optimizer, parameters=((w,), (v,)))
    made = SchedulerMade(0, -1, optimizer, "OneCycleLR", rates=rates, given=given)
    step = program.step(optimizer, gradient=program.tensor())
    groups = tuple(replace(p, group=number) for number, p in enumerate(step.parameters))
    program.steps = [replace(step, rates=rates, parameters=groups)]
    program.more["events"] = (made, SchedulerStepped(1, -1, optimizer, "OneCycleLR", rates=later))
    assert [each.moved for each in levelled_rates(program.analysis)] == ([(w,)] if levelled else [])
