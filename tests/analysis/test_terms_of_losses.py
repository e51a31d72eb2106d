"""What a loss is made of, and what of it has a gradient."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograd_inspector.analysis.callers import called_function, called_on, callee, reads
from autograd_inspector.analysis.failed_reads import ended_by, last_read
from autograd_inspector.analysis.idle_statements import idle_here
from autograd_inspector.analysis.losses.bootstrapped import bootstrapped
from autograd_inspector.analysis.losses.measured_twice import measured_twice
from autograd_inspector.analysis.losses.weights import loss_weights
from autograd_inspector.analysis.sure_zeros import surely_zero
from autograd_inspector.model.event import GradRead, TensorHook
from autograd_inspector.model.location import Location, Site
from autograd_inspector.model.program_events import StatementIdle

from .written import Written

# --- terms ---


@pytest.mark.parametrize(
    ("made", "constant"),
    [("penalty", True), ("detached branch", True), ("given", False), ("with its graph", False)],
)
def test_terms_of_a_loss_that_are_constants(made, constant):
    """A penalty whose graph is cut brings nothing to what it was computed of; what was given is a constant by right."""
    program = Written()
    w, v = program.parameter("w"), program.parameter("v")
    optimizer = program.optimizer(w, v)
    main = program.call("sum", program.call("mul", w, v), shape=())
    term = {
        "penalty": lambda: program.call("norm", program.call("detach", w), shape=()),
        "detached branch": lambda: program.call("norm", w, shape=(), region=1),
        "given": lambda: program.tensor(shape=()),
        "with its graph": lambda: program.call("norm", w, shape=()),
    }[made]()
    loss = program.call("add", main, term, shape=())
    program.backward(loss)
    program.step(optimizer, gradient=program.tensor())
    cuts = program.analysis.constant_terms
    assert [(cut.parameters, program.ops[cut.added].name) for cut in cuts] == ([((w,), "add")] if constant else [])


def two_branches(join):
    """One of two branches of a parameter is cut, and both come together."""
    program = Written()
    w = program.parameter()
    optimizer = program.optimizer(w)
    one = program.call("tanh", w)
    other = program.call("exp", program.call("detach", w))
    program.backward(program.call(join, one, other))
    program.step(optimizer, gradient=program.tensor())
    return [(cut.ops[0].name, cut.parameters, cut.partial) for cut in program.analysis.told_cuts]


@pytest.mark.parametrize("join", ["mse_loss", "mul"])
def test_a_branch_that_is_compared_or_multiplied_is_a_reference(join):
    """Whoever means to stop a gradient detaches it: a target, a weight."""
    assert two_branches(join) == []


def q_learning(*, detached=False, discounted=True, other=False):
    """A prediction, and a target that adds a reward to what the network says of the next state."""
    program = Written()
    w, target_w = program.parameter("w"), program.parameter("t")
    optimizer = program.optimizer(w)
    prediction = program.call("linear", program.tensor("s"), w)
    following = program.call("linear", program.tensor("s2"), target_w if other else w)
    if detached:
        following = program.call("detach", following)
    scaled = program.call("mul", following) if discounted else following
    target = program.call("add", program.tensor("r"), scaled)
    program.backward(program.call("mse_loss", prediction, target, shape=()))
    program.step(optimizer, gradient=program.tensor())
    return [(each.target == target, each.parameters) for each in bootstrapped(program.analysis)]


def test_a_target_that_the_network_itself_computes():
    """With its graph; another network's, a constant's, and one that nothing scales are no such targets."""
    assert q_learning() == [(True, (0,))]
    assert q_learning(detached=True) == []
    assert q_learning(other=True) == []
    assert q_learning(discounted=False) == []


@pytest.mark.parametrize("how", ["linear", "regularised", "hooked", "not stepped"])
def test_a_parameter_that_only_weighs_a_term(how):
    """The loss is linear in it, so it has no minimum; another use, or the program's own hand in it, is a reason."""
    program = Written()
    w, v, weight = program.parameter("w"), program.parameter("v"), program.parameter("weight", shape=())
    optimizer = program.optimizer(w, v, weight)
    program.optimizers[optimizer] = replace(program.optimizers[optimizer], groups=({"maximize": False},))
    one = program.call("sum", program.call("tanh", w), shape=())
    other = program.call("sum", program.call("tanh", v), shape=())
    scaled = program.call("mul", weight, other, shape=())
    loss = program.call("add", one, scaled, shape=())
    if how == "regularised":
        loss = program.call("sub", loss, program.call("log", weight, shape=()), shape=())
    program.backward(loss)
    if how == "hooked":
        program.more["tensor_hooks"] = (TensorHook(0, weight, -1),)
    if how != "not stepped":
        program.step(optimizer, gradient=program.tensor())
    found = [(each.tensor, each.op.name) for each in loss_weights(program.analysis)]
    assert found == ([(weight, "mul")] if how == "linear" else [])


@pytest.mark.parametrize(
    ("ops", "zero"),
    [(["mul"], True), (["clone", "neg"], True), (["add"], False), (["exp"], False), (["div"], True)],
)
def test_values_that_are_zero_whatever_else_was_computed(ops, zero):
    """Made as zeros, and only scaled since: a sum with something else, or a function of them, may be anything."""
    program = Written()
    other, made = program.tensor(), program.call("zeros", shape=(4,))
    for name in ops:
        made = program.call(name, made, *([other] if name in {"mul", "add", "div"} else []))
    analysis = program.analysis
    assert surely_zero(analysis.capture, analysis.flow, made, len(program.ops)) is zero


# --- lines ---


@pytest.mark.parametrize(
    ("expression", "receiver"),
    [("out.loss.backward()", "out.loss"), ("losses[0].backward()", ""), ("(a + b).backward()", ""), ("", "")],
)
def test_what_an_expression_calls_a_method_of(expression, receiver):
    """A variable or an attribute; of anything else it has no name."""
    assert called_on(Location("a.py", 1, expression=expression), "backward") == receiver


def test_what_an_expression_calls_and_reads():
    """By its syntax, so that a name within another one, or in a string, is none."""
    assert callee(Location("a.py", 1, expression="self.teacher(x)")) == "self.teacher"
    assert callee(Location("a.py", 1, expression="nets[0](x)")) == ""
    assert reads(Location("a.py", 1, expression="norm(self.g) + 1"), "self.g")
    assert not reads(Location("a.py", 1, expression="norm('g', grads)"), "g")
    assert called_function("torch.nn.init.zeros_(w)") == "zeros_"
    assert called_function("w") == ""


def falling(*, error="'NoneType' object has no attribute 'norm'", raised="g.norm()", gradient=-1, target="g"):
    """A read of a ``.grad`` on one line, and an exception on the next."""
    program = Written()
    w = program.parameter()
    frames = (
        Location("a.py", 5, "train", expression="w.grad", target=target, end_lineno=5),
        Location("a.py", 6, "train", expression=raised),
    )
    program.sites += [Site((frame,)) for frame in frames]
    program.more |= {"error": error, "error_site": 1, "grad_reads": (GradRead(0, w, gradient, 0, leaf=True),)}
    capture = program.capture
    assert (last_read(capture) is not None) is ended_by(capture, capture.grad_reads[0])
    return last_read(capture) is not None


def test_a_program_that_falls_over_a_gradient_that_is_none():
    """Where it uses the variable that got it; another error, another variable, or a gradient is no such fall."""
    assert falling()
    assert not falling(error="ValueError: 3")
    assert not falling(raised="h.norm()")
    assert not falling(gradient=0)
    assert not falling(target="")


def test_statements_that_do_nothing_in_a_function_that_ran():
    """Those of the names that are asked for, in a function on the way to one of the sites."""
    program = Written()
    here, elsewhere = program.site(line=1, function="train"), program.site(line=2, function="evaluate")
    idle = StatementIdle(0, here, "zero_grad", called=False)
    program.more["events"] = (idle,)
    analysis = program.analysis
    assert idle_here(analysis, [here], "zero_grad") == [idle]
    assert idle_here(analysis, [elsewhere], "zero_grad") == []
    assert idle_here(analysis, [here], "no_grad") == []


@pytest.mark.parametrize(("cut", "told"), [("one of two", True), ("each", False), ("none", False)])
def test_a_pair_that_two_terms_measure(cut, told):
    """The term that has no constant, the end that the other takes for one, and the end that both move."""
    program = Written()
    z, q = (program.call("mul", program.parameter(name)) for name in ("w", "v"))
    first = program.call("mse_loss", q, z if cut == "none" else program.call("detach", z), shape=())
    second = program.call("mse_loss", z, program.call("detach", q) if cut == "each" else q, shape=())
    program.backward(program.call("add", first, second, shape=()))
    found = [
        (each.whole.outputs, each.half.outputs, each.moved, each.other) for each in measured_twice(program.analysis)
    ]
    assert found == ([((second,), (first,), z, q)] if told else [])
