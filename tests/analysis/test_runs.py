"""What one backward has to do with another, and what becomes of parameters in between."""

from __future__ import annotations

from autograd_inspector.analysis.carried_over import carried_over
from autograd_inspector.analysis.draws import draws
from autograd_inspector.analysis.gradients.zero_derivative import flattened
from autograd_inspector.analysis.none_returned import behind_none, missing_edges
from autograd_inspector.analysis.op_kinds import OpKind
from autograd_inspector.analysis.rounds import consuming, rounds_of
from autograd_inspector.analysis.seen_gradients import gradients_of
from autograd_inspector.model.event import GradRead, GradWrite, NoneGradient, RequiresGradChanged
from autograd_inspector.model.op import Op, Trait

from .written import Written


def test_a_state_that_leads_back_into_the_graph_of_the_round_before():
    """The op that read it in this round, and the tensor; one that was detached leads nowhere."""
    program = Written()
    w = program.parameter()
    state = program.call("tanh", w)
    kept = program.call("detach", state)
    last = program.backward(state)
    program.call("sum", w, shape=())
    later = program.backward(program.call("mul", state, w))
    analysis = program.analysis
    op, tensor = carried_over(analysis.capture, analysis.flow, later, last)
    assert (op.name, tensor) == ("mul", state)
    fresh = program.backward(program.call("mul", kept, w))
    analysis = program.analysis
    assert carried_over(analysis.capture, analysis.flow, fresh, last) is None


def looped(program, rounds, *, steps=True, **fields):
    """That many rounds of forward, backward and, maybe, a step."""
    w = program.parameter()
    optimizer = program.optimizer(w)
    for _ in range(rounds):
        program.backward(program.call("pow", w), **fields)
        if steps:
            program.step(optimizer)
    return w


def test_a_step_ends_a_round():
    """Each backward that used its graph up belongs to the round that it lies in."""
    program = Written()
    looped(program, 3)
    rounds = rounds_of(program.capture, {})
    assert (len(rounds.ends), [rounds.of[run.index] for run in program.backwards]) == (3, [0, 1, 2])


def test_backwards_that_keep_their_graph_end_no_round():
    """They used nothing up; nor did one that raised."""
    program = Written()
    looped(program, 2, retain_graph=True)
    looped(program, 1, error="RuntimeError: no")
    assert consuming(program.capture) == []
    assert rounds_of(program.capture, {}).ends == []


def test_micro_batches_are_one_round():
    """Their gradients add up until the step."""
    program = Written()
    w = looped(program, 2, steps=False, stale=(0,))
    program.step(program.optimizer(w))
    rounds = rounds_of(program.capture, {})
    assert len({rounds.of[run.index] for run in program.backwards}) == 1


def test_gradients_are_those_that_were_seen_as_such():
    """Read, or assigned; None is none."""
    program = Written()
    w, first, second = program.parameter(), program.tensor(), program.tensor()
    program.more["grad_reads"] = (GradRead(0, w, first, -1, leaf=True), GradRead(1, w, -1, -1, leaf=True))
    program.more["grad_writes"] = (GradWrite(2, w, second, -1), GradWrite(3, w, -1, -1))
    assert gradients_of(program.capture) == {w: frozenset({first, second})}


def test_what_returns_random_numbers_draws():
    """By its name; a dropout where it was told to."""
    assert draws(Op(0, "randperm", (), (), (1,), -1))
    assert draws(Op(0, "bernoulli", (1,), (0,), (2,), -1))
    assert draws(Op(0, "dropout", (1,), (0,), (2,), -1, traits=int(Trait.DRAWS)))
    assert not draws(Op(0, "dropout", (1,), (0,), (2,), -1))


def test_a_flat_op_takes_the_gradient_of_all_that_lies_behind_it():
    """What has another way to the loss loses that part alone."""
    program = Written()
    lost, kept = program.parameter("lost"), program.parameter("kept")
    program.optimizer(lost, kept)
    rounded = program.call("round", program.call("mul", lost, kept))
    program.backward(program.call("add", rounded, kept))
    [flat] = flattened(program.analysis, OpKind.PIECEWISE_CONSTANT)
    assert (flat.op.name, flat.parameters, flat.partial) == ("round", (lost,), False)


def test_a_remainder_loses_nothing():
    """`x - x.floor()`: the op is read beside what it was given."""
    program = Written()
    w = program.parameter()
    program.optimizer(w)
    x = program.call("tanh", w)
    program.backward(program.call("sub", x, program.call("floor", x)))
    assert list(flattened(program.analysis, OpKind.PIECEWISE_CONSTANT)) == []


def test_nothing_comes_to_the_nodes_behind_a_none():
    """Unless another way leads there."""
    program = Written()
    w, v = program.parameter("w"), program.parameter("v")
    hidden = program.call("tanh", w)
    joined = program.call("Mine.apply", hidden, v, traits=Trait.FUNCTION)
    program.backward(joined)
    node = next(node for node in program.nodes if node.op == 1)
    program.more["none_gradients"] = (NoneGradient(node.seq, (0,)),)
    analysis = program.analysis
    assert missing_edges(analysis.capture, node) == (0,)
    named = {analysis.capture.nodes[number].variable for number in behind_none(analysis.capture, analysis.run_graphs)}
    assert (w in named, v in named) == (True, False)


def test_requires_grad_is_known_for_every_moment():
    """Before the first change it was the other way round."""
    program = Written()
    w = program.parameter()
    program.more["requires_grad_changes"] = (
        RequiresGradChanged(2, w, requires_grad=False, site=-1),
        RequiresGradChanged(5, w, requires_grad=True, site=-1),
    )
    lifecycle = program.analysis.lifecycle
    assert [lifecycle.requires_grad_at(w, at) for at in (0, 2, 4, 5, 9)] == [True, False, False, True, True]
    assert [change.at for change in lifecycle.frozen([w])] == [2]
    assert lifecycle.unfrozen([w], until=4) == []


def test_a_parameter_is_used_where_autograd_recorded_what_read_it():
    """Initialising and copying it is no use."""
    program = Written()
    w, v = program.parameter("w"), program.parameter("v")
    program.write("normal_", v)
    program.call("mul", w, w)
    lifecycle = program.analysis.lifecycle
    assert (lifecycle.used(w), lifecycle.used(v)) == (True, False)
    assert lifecycle.first_reader(v).name == "normal_"
    assert lifecycle.first_reader(program.tensor()) is None


def test_places_are_those_of_the_records_that_there_are():
    """Each in its role, one after the other."""
    program = Written()
    program.call("mul", program.parameter(), program.parameter("v"), line=7)
    site = program.site(9)
    places = program.analysis.places((program.ops[0], "made here"), (None, "not there"), (site, "read here"))
    assert [(place.lineno, place.role) for place in places] == [(7, "made here"), (9, "read here")]
