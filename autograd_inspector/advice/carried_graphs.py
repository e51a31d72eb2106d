"""What to write where a graph is carried into the next round: compute it again, or cut it off."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.kept_tensors import CACHED, kept_by, siblings_cut_off, stored_detached
from autograd_inspector.advice.naming import is_named, name_of
from autograd_inspector.advice.operands import operand
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.advice.remedies.graphs import (
    computed_again,
    contents_detached,
    kept_last,
    kept_without_graph,
    retained,
)
from autograd_inspector.advice.remedies.graphs import cut_off as written_off
from autograd_inspector.advice.spelling import assignable, is_path
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.callers import reads
from autograd_inspector.analysis.gradient_cuts.harmful import stepped_with
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.gradient_cuts.left_after_a_cut import left_after_a_cut
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Remedies, Substitute
from autograd_inspector.model.rewrites import AlsoDetach, EnterInRounds
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.source.fragments import uncommented


def carried_name(analysis: Analysis, reader: Op, tensor: int) -> str:
    """What to call the carried tensor: its name, else what the line that reads it writes for it."""
    if is_named(analysis, tensor):
        return name_of(analysis, tensor)
    return operand(analysis, reader, tensor) or name_of(analysis, tensor)


def used_too_early(analysis: Analysis, carried: tuple[Op, int, Backward]) -> Op | None:
    """What read the tensor in the loss that freed its graph, where only the later loss trains what is behind it.

    A generator's images under the discriminator's loss: that loss was to get them without their graph.
    """
    _, tensor, freed_by = carried
    made = analysis.flow.birth(tensor)
    behind = () if made is None else Leaves(analysis.capture, analysis.flow).above(made)
    trained = {t for held in stepped_with(analysis.capture, freed_by) for t in held}
    meant = analysis.capture.optimized.intersection(behind)
    if not trained or not meant or not trained.isdisjoint(behind):
        return None
    through = {node.op for node in analysis.nodes_of(freed_by)}
    readers = (index for index in analysis.capture.readers.get(tensor, ()) if index in through)
    return next((analysis.capture.ops[index] for index in readers), None)


def carry_fix(analysis: Analysis, carried: tuple[Op, int, Backward], run: Backward, *, unstepped: bool) -> str:
    """The advice for (the op that read it, the tensor, the backward that freed its graph) and the one that failed."""
    reader, tensor, freed_by = carried
    name, made = carried_name(analysis, reader, tensor), analysis.flow.birth(tensor)
    behind = () if made is None else Leaves(analysis.capture, analysis.flow).above(made)
    meant = analysis.capture.optimized.intersection(behind)
    if used_too_early(analysis, carried) is not None:
        # A generator under the discriminator's loss: the later loss is the one that needs the graph.
        cut = f"Write `{name}.detach()`" if assignable(name, analysis, tensor) else f"detach() {name}"
        return (
            f"{cut[0].upper()}{cut[1:]} in the loss that is backpropagated first: its optimizer does not hold the "
            f"parameters behind {name}."
        )
    held = kept_by(analysis, tensor)
    if held is not None and held.name == CACHED:
        return (
            "Enter parametrize.cached() in each iteration, inside the loop: within one block each parametrized weight is "
            "computed once, and all iterations share its graph."
        )
    kept = _kept(analysis, reader, tensor, freed_by)
    left = left_after_a_cut(analysis.capture, analysis.flow, run, _together(reader, tensor, made))
    all_of_it = made is not None and _of_state_alone(analysis, tensor, made)
    if kept and meant and not unstepped and (all_of_it or not meant <= left):
        learning = [name_of(analysis, t) for t in behind if t in meant]
        return (
            f"Compute {name} again in each iteration instead of keeping it: {summarize_names(learning)} "
            f"{agree(learning, 'gets its gradient', 'get their gradients')} through it, and detach() would stop that."
        )
    again = f"Compute {name} again for each backward()"
    retained = (
        "pass retain_graph=True to each backward() but the last"
        if freed_by.site == run.site
        else "pass retain_graph=True to the first backward()"
    )
    if not left and not _differentiated(analysis, tensor):
        return f"Sum the losses and call backward() once, or {retained}." if unstepped else f"{again}."
    if (
        unstepped
        and freed_by.api == run.api == "backward"
        and line_of(analysis, freed_by.site) != line_of(analysis, run.site)
    ):
        return (
            f"Sum the losses and call backward() once, or {retained}. If the "
            f"later loss does not need to train the parameters behind {name}, detach it: {cut_off(analysis, reader, tensor, made)}."
        )
    cut = cut_off(analysis, reader, tensor, made)
    stored = stored_detached(analysis, held, "detach()")
    advice = (
        f"{again} if it is trained; otherwise detach it: {cut}"
        if kept
        else f"{again}, or detach it where it is {'stored' if stored else 'carried over'}: {cut}"
    )
    return advice + (f", or {retained}." if unstepped else ".")


def carry_cures(
    analysis: Analysis, carried: tuple[Op, int, Backward], run: Backward, *, unstepped: bool
) -> Iterator[Remedies]:
    """The ways of :func:`carry_fix`, as far as they are a change of a line."""
    reader, tensor, freed_by = carried
    made = analysis.flow.birth(tensor)
    behind = () if made is None else Leaves(analysis.capture, analysis.flow).above(made)
    meant = analysis.capture.optimized.intersection(behind)
    early = used_too_early(analysis, carried)
    if early is not None:
        yield from _cut_in_the_first(analysis, tensor, freed_by)
        yield from _given_detached(analysis, early, made)
        return
    held = kept_by(analysis, tensor)
    if held is not None and held.name == CACHED:
        yield from at_line(analysis, held.site, EnterInRounds)
        return
    kept, renewed = _kept(analysis, reader, tensor, freed_by), _read_when_new(analysis, reader, tensor, made)
    if kept and meant and not unstepped and not renewed:
        yield from computed_again(analysis, made, reader)
        left = left_after_a_cut(analysis.capture, analysis.flow, run, _together(reader, tensor, made))
        if (made is not None and _of_state_alone(analysis, tensor, made)) or not meant <= left:
            return  # What learns through it alone would learn nothing.
    if unstepped and freed_by.api == run.api == "backward":
        yield from retained(analysis, freed_by)
    for beside in siblings_cut_off(analysis, reader, made):
        yield from at_line(analysis, beside.site, AlsoDetach)
    if held is not None and held.site >= 0 and not renewed:
        yield from kept_without_graph(analysis, held, made, freed_by)
    elif held is not None:
        yield from contents_detached(analysis, held, run)
        yield from kept_last(analysis, held, made)
    read = operand(analysis, reader, tensor) or carried_name(analysis, reader, tensor)
    yield from written_off(analysis, read, reader, made, freed_by)


def _cut_in_the_first(analysis: Analysis, tensor: int, freed_by: Backward) -> Iterator[Remedies]:
    """The loss that was backpropagated first reads it without its graph, wherever it does."""
    first = {op.index for op, _ in analysis.flow.upstream([(root, freed_by.start) for root in freed_by.roots])}
    readers = [analysis.capture.ops[at] for at in analysis.capture.readers.get(tensor, ()) if at in first]
    cuts = []
    for op in readers:
        place = analysis.capture.place(op.site)
        read = operand(analysis, op, tensor) or carried_name(analysis, op, tensor)
        if place is None or not is_path(read):
            return
        cuts.append(Substitute(place, read, "{}.detach()"))
    if cuts:
        yield tuple(dict.fromkeys(cuts))


def _given_detached(analysis: Analysis, early: Op, made: Op | None) -> Iterator[Remedies]:
    """The line of the earlier loss gets the tensor without its graph, by the name that the program has for it."""
    here, there = ((() if op is None else analysis.capture.site(op.site)) for op in (early, made))
    for place in here:
        name = next((f.target for f in there if f.scope == place.scope and reads(place, f.target)), "")
        if name and not place.library:
            yield (Substitute(place, name, "{}.detach()"),)
            return


def _together(reader: Op, tensor: int, made: Op | None) -> frozenset[int]:
    """What the advice cuts off: with the tensor whatever else of its op the same op reads, (h, c)."""
    return frozenset({tensor}.union(t for t in (() if made is None else made.outputs) if t in reader.inputs))


def _kept(analysis: Analysis, reader: Op, tensor: int, freed_by: Backward) -> bool:
    """Whether the very tensor was read in the round before too: a cache, and not a state that each round renews."""
    lines = [
        analysis.capture.ops[index].site for index in analysis.capture.readers.get(tensor, ()) if index < freed_by.start
    ]
    line = line_of(analysis, reader.site)
    return line is not None and any(line_of(analysis, site) == line for site in lines)


def _of_state_alone(analysis: Analysis, tensor: int, made: Op) -> bool:
    """Whether it comes from parameters, buffers and constants alone: then it can be computed again at any time."""
    tensors = analysis.capture.tensors
    for op, _ in analysis.flow.upstream([(tensor, made.index + 1)], lambda o, t: not tensors[t].of_model):
        if (
            not op.inputs
            and not is_a(op.name, OpKind.RETURNS_CONSTANT)
            and not any(tensors[t].of_model for t in op.outputs)
        ):
            return False
        for read in op.inputs:
            if not tensors[read].of_model and not analysis.flow.producers(read, op.index):
                return False
    return True


def cut_off(analysis: Analysis, reader: Op, tensor: int, made: Op | None) -> str:
    """The code that cuts it off, together with what else the same op made and the same op reads: (h, c)."""
    call = "detach().requires_grad_()" if _differentiated(analysis, tensor) else "detach()"
    return _at_the_store(analysis, reader, tensor, made, call) or _at_the_read(analysis, reader, tensor, made, call)


def _at_the_store(analysis: Analysis, reader: Op, tensor: int, made: Op | None, call: str) -> str:
    """Where the program keeps it, or lets what came with it go; "" where neither is known."""
    held = kept_by(analysis, tensor)
    stored = stored_detached(analysis, held, call)
    if stored and held is not None and _read_when_new(analysis, reader, tensor, made):
        return f"call {call} on the contents of {held.api} after each backward()"
    beside = siblings_cut_off(analysis, reader, made) if not stored else []
    place = analysis.capture.place(beside[0].site) if beside else None
    if place is None or not place.source:
        return stored
    return f"call {call} on it too where {name_of(analysis, beside[0].inputs[0])} is detached: `{uncommented(place.source)}`"


def _read_when_new(analysis: Analysis, reader: Op, tensor: int, made: Op | None) -> bool:
    """Whether each round makes one more of what is kept, and the line reads it in that round already.

    Stored without its graph, it would have none there.
    """
    ops = analysis.capture.ops
    end = next((run.end for run in analysis.capture.backwards if made is not None and run.end > made.index), len(ops))
    if made is None or all(op.site != made.site for op in ops[end : reader.index]):
        return False
    line, place = line_of(analysis, reader.site), reader.inputs.index(tensor)
    readers = (ops[index] for index in analysis.capture.readers.get(tensor, ()) if index < end)
    return any(line_of(analysis, op.site) == line and op.inputs[place : place + 1] == (tensor,) for op in readers)


def _at_the_read(analysis: Analysis, reader: Op, tensor: int, made: Op | None, call: str) -> str:
    tensors, name = analysis.capture.tensors, carried_name(analysis, reader, tensor)
    if not assignable(name, analysis, tensor):
        return f"call {call} where it is stored"
    if not tensors[tensor].variable:
        return f"use `{name}.{call}` there"
    together = [t for t in made.outputs if t in reader.inputs] if made is not None else [tensor]
    names = list(dict.fromkeys(tensors[t].variable for t in together if tensors[t].variable))
    if len(together) > 1 and names == [name]:
        return f"`{name} = tuple(t.{call} for t in {name})`"  # Only the first item is named where a tuple is assigned.
    if len(together) == len(names) > 1:
        return f"`{', '.join(names)} = {', '.join(f'{n}.{call}' for n in names)}`"
    return f"`{name} = {name}.{call}`"


def _differentiated(analysis: Analysis, tensor: int) -> bool:
    """Whether the program asks for the gradient of the tensor, which then has to be a leaf that requires grad."""
    return any(run.api == "grad" for run in analysis.timeline.runs_to(tensor).all)
