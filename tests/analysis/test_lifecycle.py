"""The turns in the life of a parameter: made, registered, frozen, read, taken out; and who shares its memory."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograd_inspector.analysis.memory.assigned_data import effective
from autograd_inspector.analysis.memory.backups import never_restored
from autograd_inspector.analysis.memory.buffers import buffers_in_parameters
from autograd_inspector.analysis.memory.one_memory import OneMemory
from autograd_inspector.analysis.memory.restored import augmented, covers, taken
from autograd_inspector.analysis.modules.repeated import repeated_modules
from autograd_inspector.analysis.modules.routed import routed
from autograd_inspector.analysis.modules.undone_ties import undone_ties
from autograd_inspector.analysis.parameters.unregistered import unregistered_of
from autograd_inspector.model.event import ParameterReplacement, RequiresGradChanged
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.program_events import (
    BareTensorHeld,
    ModuleExchanged,
    ModuleRepeated,
    OptimizerCreated,
    ParameterRegistered,
)

from .written import Written


def change(at, tensor, *, requires_grad):
    return RequiresGradChanged(at, tensor, requires_grad, -1)


def test_requires_grad_at_a_moment():
    """Before the first change it was the opposite of what that made it; without any it is what it is now."""
    program = Written()
    w, v = program.parameter("w"), program.parameter("v", grad=False)
    program.more["requires_grad_changes"] = (change(2, w, requires_grad=False), change(5, w, requires_grad=True))
    lifecycle = program.analysis.lifecycle
    assert [lifecycle.requires_grad_at(w, at) for at in (1, 2, 4, 5)] == [True, False, False, True]
    assert not lifecycle.requires_grad_at(v, 3)
    assert [each.at for each in lifecycle.frozen([w])] == [2]
    assert [each.at for each in lifecycle.unfrozen([w], until=4)] == []


def test_where_a_parameter_was_made():
    """Where a module registered it; else where its memory was made; else where it began to require grad."""
    program = Written()
    registered, thawed = program.parameter("a"), program.parameter("b")
    made = program.call("randn", shape=(4,))
    program.more["events"] = (ParameterRegistered(0, 7, "Net", "a", registered),)
    program.more["requires_grad_changes"] = (RequiresGradChanged(0, thawed, requires_grad=True, site=8),)
    lifecycle = program.analysis.lifecycle
    assert lifecycle.made_at(registered) == [7]
    assert lifecycle.made_at(made) == [program.ops[0].site]
    assert lifecycle.made_at(thawed) == [8]


def test_a_parameter_that_joins_after_its_optimizer():
    """By the op that made it, or by its registration; what was there before is none."""
    program = Written()
    early, late = program.parameter("early"), program.parameter("late")
    optimizer = program.optimizer(early)
    program.optimizers[optimizer] = replace(program.optimizers[optimizer], created_at=0)
    joined = ParameterRegistered(1, -1, "Net", "late", late)
    program.more["events"] = (
        ParameterRegistered(0, -1, "Net", "early", early),
        OptimizerCreated(0, -1, optimizer, "SGD", (early,)),
        joined,
    )
    analysis = program.analysis
    [record] = analysis.capture.placement.optimizers
    assert analysis.lifecycle.joined_since(late, record) == [joined]
    assert analysis.lifecycle.began_after(late, record)
    assert not analysis.lifecycle.began_after(early, record)


def test_a_parameter_that_was_taken_out_of_its_model():
    """The last replacement says how; one that a model has again is in it."""
    program = Written()
    gone, back = program.parameter("gone"), program.parameter("back")
    first = ParameterReplacement(0, 0, "to", -1, gone=(("gone", gone), ("back", back)))
    program.more |= {"replacements": (first,), "owners": {back: 0}}
    lifecycle = program.analysis.lifecycle
    assert lifecycle.taken_out(gone) == first
    assert lifecycle.taken_out(back) is None


def test_a_parameter_is_used_by_what_autograd_records():
    """Its initialisation reads it first, and is no use."""
    program = Written()
    used, initialised = program.parameter("used"), program.parameter("initialised")
    program.write("zero_", initialised)
    program.call("pow", used)
    lifecycle = program.analysis.lifecycle
    assert (lifecycle.used(used), lifecycle.used(initialised)) == (True, False)
    assert lifecycle.first_reader(initialised).name == "zero_"
    assert lifecycle.first_reader(99) is None


# --- not registered ---


def leaf_in_a_module(**facts):
    """A bare leaf that a module computes with in two steps."""
    program = Written()
    w = program.parameter("w")
    leaf = program.tensor(grad=True)
    program.more["calls"] = (ModuleCall(0, "", "Net"),)
    if facts.get("attribute"):
        program.more["events"] = (BareTensorHeld(0, -1, "Net", "scale", leaf),)
    if facts.get("given"):
        program.tensors[leaf] = replace(program.tensors[leaf], given=True)
    if facts.get("held"):
        program.optimizer(leaf)
    for _ in range(facts.get("steps", 2)):
        made = program.call("mul", w, leaf)
        program.ops[-1] = replace(program.ops[-1], call=-1 if facts.get("attribute") else 0)
        program.backward(made)
    program.optimizer(w)
    return leaf in unregistered_of(program.capture, frozenset({w, leaf}))


@pytest.mark.parametrize(
    ("facts", "unregistered"),
    [
        ({}, True),
        ({"attribute": True}, True),
        ({"given": True}, False),
        ({"held": True}, False),
        ({"steps": 1}, False),
    ],
)
def test_a_leaf_that_a_module_computes_with_and_has_not_registered(facts, unregistered):
    """Over several steps, or as its attribute; an input, or one that an optimizer has, is none."""
    assert leaf_in_a_module(**facts) is unregistered


# --- memory ---


def swapped(*, back):
    """The program assigns other memory to a parameter's ``.data``, and maybe the old one again."""
    program = Written()
    w, other = program.parameter("w", grad=False), program.tensor()
    old = program.tensor(of=w)
    program.write("set_data", other, w)
    storage = program.tensors[w].storage
    assignments = [program.ops[-1]]
    if back:
        program.write("set_data", old, w)
        assignments.append(program.ops[-1])
    edits = [(replace(op, name="set_data"), replace(op.writes[0], tensor=w, storage=storage)) for op in assignments]
    return len(effective(program.analysis, w, edits, len(program.ops)))


def test_assignments_to_data_that_a_reader_of_the_tensor_sees():
    """Weights that are swapped in and out again are the old ones."""
    assert swapped(back=False) == 1
    assert swapped(back=True) == 0


@pytest.mark.parametrize("then", ["stepped", "restored", "read", "looked at", "no step"])
def test_a_copy_that_nothing_puts_back(then):
    """The program writes the parameter and steps on; one that is copied back, or read, serves its purpose."""
    program = Written()
    w, noise = program.parameter(), program.tensor()
    optimizer = program.optimizer(w)
    kept = program.call("clone", w, region=1)
    program.write("add_", w, noise)
    if then == "restored":
        program.write("copy_", w, kept)
    if then == "read":
        program.call("norm", kept, shape=())
    if then == "looked at":  # By torch.equal(), which returns no tensor.
        program.tensors[kept] = replace(program.tensors[kept], looked_at=True)
    if then != "no step":
        program.step(optimizer, gradient=program.tensor())
    found = [(each.tensor, each.taken.name, each.written.name) for each in never_restored(program.analysis)]
    assert found == ([(w, "clone", "add_")] if then == "stepped" else [])


def test_two_parameters_on_one_memory():
    """They share it where the bytes overlap; written by both where an optimizer steps each of them."""
    program = Written()
    w = program.parameter("w")
    alias = program.tensor("alias", kind="parameter", of=w)
    program.parameter("apart")
    gradient = program.tensor()
    optimizer = program.optimizer(w)
    program.step(optimizer, gradient=gradient)
    memory = OneMemory(program.capture)
    [pair] = memory.pairs()
    assert (pair.owner, pair.joined) == (w, alias)
    assert not memory.written_by_both(pair)
    program.step(program.optimizer(alias), gradient=gradient)
    assert OneMemory(program.capture).written_by_both(pair)
    program.write("mul_", alias)
    assert len(OneMemory(program.capture).update_sites(pair)) == 2


@pytest.mark.parametrize(
    ("through", "stepped", "found"),
    [("buffer", True, True), ("view", True, True), ("parameter", True, False), ("buffer", False, False)],
)
def test_a_buffer_in_the_memory_of_a_parameter(through, stepped, found):
    """It is given a value of its own, itself or through a view, and an optimizer steps the parameter."""
    program = Written()
    w = program.parameter()
    mask = program.call("detach", w)
    program.tensors[mask] = replace(program.tensors[mask], kind="buffer", names=("mask",))
    optimizer = program.optimizer(w)
    view = program.call("__getitem__", mask, region=1)
    program.write("fill_", {"buffer": mask, "view": view, "parameter": w}[through])
    if stepped:
        program.step(optimizer, gradient=program.tensor())
    pairs = [(each.buffer, each.parameter, each.edit.name) for each in buffers_in_parameters(program.analysis)]
    assert pairs == ([(mask, w, "fill_")] if found else [])


@pytest.mark.parametrize(("edited", "found"), [(False, True), (True, False)])
def test_a_copy_that_is_put_back(edited, found):
    """Of the very memory; one that was modified in between puts back something else."""
    program = Written()
    x = program.tensor()
    kept = program.call("clone", x)
    program.write("mul_", x)
    if edited:
        program.write("mul_", kept)
    back = program.write("copy_", x, kept)
    made = taken(program.analysis, back, back.writes[0])
    assert (made is not None) is found


def test_the_end_of_an_augmented_assignment():
    """`x[i] += y` assigns the view that was modified to its own place; another value is assigned as usual."""
    program = Written()
    x, y = program.tensor(), program.tensor()
    view = program.call("__getitem__", x)
    program.write("add_", view, y)
    end = program.write("__setitem__", x, view)
    plain = program.write("__setitem__", x, y)
    analysis = program.analysis
    assert (augmented(analysis, end), augmented(analysis, plain)) == (True, False)


def test_which_tensor_covers_another():
    """Each element of the one lies in the other."""
    program = Written()
    whole = program.tensors[program.tensor(shape=(8,))]
    part = replace(whole, id=9, shape=(4,), nbytes=16, extent=16)
    assert covers(whole, part)
    assert not covers(part, whole)
    assert not covers(replace(whole, nbytes=16), replace(part, shape=(2,)))


# --- modules in lists ---


def test_members_of_a_list_that_take_turns():
    """Experts, of which not the same run in each call; where all run, none is routed."""
    program = Written()
    first, second = program.parameter("experts.0.weight"), program.parameter("experts.1.weight")
    program.more |= {"owners": {first: 0, second: 0}, "models": ("net",)}
    calls = [ModuleCall(0, "", "Net", 0), ModuleCall(1, "experts.0", "Linear", 0, parent=0)]
    calls += [ModuleCall(2, "", "Net", 0, nth=2), ModuleCall(3, "experts.1", "Linear", 0, parent=2)]
    program.more["calls"] = tuple(calls)
    assert routed(program.capture, [first, second]) == [first, second]
    program.more["calls"] = (*calls[:2], calls[2], replace(calls[3], path="experts.0"))
    assert routed(program.capture, [first, second]) == []


@pytest.mark.parametrize(("given", "alike"), [("the same", True), ("each other's", False)])
def test_a_module_that_stands_several_times_in_a_list(given, alike):
    """Its places; and the calls that computed the same of the same, if there are such."""
    program = Written()
    w = program.tensor("layers.0.weight", kind="parameter", grad=True)
    program.tensors[w] = replace(program.tensors[w], names=("layers.0.weight", "layers.1.weight"))
    x = program.tensor()
    made = program.call("linear", x, w)
    program.call("linear", x if given == "the same" else made, w)
    program.ops = [replace(op, call=number + 1) for number, op in enumerate(program.ops)]
    program.more |= {
        "owners": {w: 0},
        "models": ("net",),
        "calls": (
            ModuleCall(0, "", "Net", 0),
            ModuleCall(1, "layers.0", "Linear", 0, parent=0),
            ModuleCall(2, "layers.0", "Linear", 0, nth=2, parent=0, at=1),
        ),
        "events": (ModuleRepeated(0, -1, "ModuleList", (w,)),),
    }
    [found] = repeated_modules(program.analysis)
    assert found.paths == ("layers.0", "layers.1")
    assert len(found.calls) == (2 if alike else 0)


@pytest.mark.parametrize(
    ("gone", "rows", "held", "told"),
    [
        ("Embedding", 4, True, True),
        ("Linear", 4, True, False),  # The follower goes: a head of its own.
        ("Embedding", 3, True, False),  # Another kind of weight.
        ("Embedding", 4, False, False),  # Nothing has the old weight any more.
    ],
)
def test_a_tie_that_is_undone(gone, rows, held, told):
    """The module goes in which the shared weight was made, another weight comes, and the follower keeps the old one."""
    program = Written()
    old, new = program.parameter("head.weight", shape=(6, 4)), program.parameter("table.weight", shape=(8, rows))
    optimizer = program.optimizer(old, new)
    program.backward(program.call("add", program.call("mul", old), program.call("mul", new), shape=()))
    program.step(optimizer)
    tied = ParameterRegistered(0, -1, "Linear", "weight", old)
    exchanged = ModuleExchanged(0, -1, gone, "table", ((old,), (new,)))
    program.more |= {
        "owners": {new: 0} | ({old: 0} if held else {}),
        "models": ("net",),
        "events": (ParameterRegistered(0, -1, "Embedding", "weight", old), tied, exchanged),
    }
    found = [(each.event, each.tied, each.old, each.new) for each in undone_ties(program.analysis)]
    assert found == ([(exchanged, tied, old, new)] if told else [])
