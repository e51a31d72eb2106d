"""Recording -> Capture: the live side ends here."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import Any, TypeVar

import torch

from autograd_inspector.capture.freezing.aliases import alias_writes
from autograd_inspector.capture.freezing.assigned_slots import assigned_slots
from autograd_inspector.capture.freezing.clipped_iterators import clipped_iterators
from autograd_inspector.capture.freezing.collected_parameters import collected_parameters
from autograd_inspector.capture.freezing.discarded_results import discarded_results
from autograd_inspector.capture.freezing.divided_losses import divided_losses
from autograd_inspector.capture.freezing.dropped_values import dropped_values
from autograd_inspector.capture.freezing.gradients_gone import gradients_gone
from autograd_inspector.capture.freezing.graph_flags import graph_flags
from autograd_inspector.capture.freezing.groups_made import groups_made
from autograd_inspector.capture.freezing.idle_statements import idle_statements
from autograd_inspector.capture.freezing.kept_gradients import kept_gradients
from autograd_inspector.capture.freezing.lost_gradient_copies import lost_gradient_copies
from autograd_inspector.capture.freezing.lost_sums import lost_sums
from autograd_inspector.capture.freezing.lost_writes import lost_writes
from autograd_inspector.capture.freezing.mode_branches import mode_branches
from autograd_inspector.capture.freezing.option_lines import options_set
from autograd_inspector.capture.freezing.rank_shares import divisions_by_ranks, shares_of
from autograd_inspector.capture.freezing.read_attributes import read_attributes
from autograd_inspector.capture.freezing.receivers_bound import receivers_bound
from autograd_inspector.capture.freezing.rounds_left import rounds_left
from autograd_inspector.capture.freezing.second_names import second_names
from autograd_inspector.capture.freezing.selected_parameters import selected_parameters
from autograd_inspector.capture.freezing.shared_models import shared_models
from autograd_inspector.capture.freezing.sharing import Sharing
from autograd_inspector.capture.freezing.state_statements import state_statements
from autograd_inspector.capture.freezing.stored_entries import stored_entries
from autograd_inspector.capture.freezing.unread_arguments import unread_arguments
from autograd_inspector.capture.freezing.unreturned_results import hook_ends, unreturned_results
from autograd_inspector.capture.freezing.written_in_loops import written_in_loops
from autograd_inspector.capture.graph_walk.saved_tensors import short
from autograd_inspector.capture.lines.blind import asked_at, ignored_gradients, ignores_gradients
from autograd_inspector.capture.lines.sources import definition_of, resolve, unread
from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.observers.modules.naming import model_names, tensor_names, variable_names
from autograd_inspector.capture.observers.optimizers.placing import placement_of
from autograd_inspector.capture.observers.optimizers.spread import rank_here
from autograd_inspector.capture.recording.lineage import Lineage
from autograd_inspector.capture.recording.raw_records import (
    OP_FIRST,
    OP_INPUTS,
    OP_LAST,
    OP_OUTPUTS,
    OP_TRAITS,
    RawOp,
)
from autograd_inspector.capture.recording.recorded_nodes import Recorded
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.recording.window import Window
from autograd_inspector.capture.torch_private.resolving import notes as lacking
from autograd_inspector.capture.vitals.freezing import frozen
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import ScalarReentry
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.steps_history import History
from autograd_inspector.model.tensor import TensorKind, TensorRecord
from autograd_inspector.model.vitals import Vitals
from autograd_inspector.source.index import last_return
from autograd_inspector.source.returned_gradients import computed_at

T = TypeVar("T")

_OPERANDS = 6
"""So many ops back what was computed for a write is told with the numbers that went into it."""


def freeze(
    recording: Recording, modules: Modules, history: History, *, seconds: float, error: str, keep: bool = False
) -> Capture:
    """All records of a finished capture; ``history`` tells of the steps that are no longer in it.

    Unless it is to ``keep`` them, the recording has lost what takes the most room: a million ops are there once.
    """
    recorded_nodes = recording.recorded.nodes
    recording.recorded, recording.lineage = Recorded(), Lineage()  # Not beside what is made of the records.
    recording.ledger.update(recording)
    writes = tuple(alias_writes(recording))
    events = (
        *recording.events,
        *options_set(recording, error),
        *state_statements(recording),
        *discarded_results(recording),
        *dropped_values(recording),
        *lost_writes(recording),
        *lost_gradient_copies(recording),
        *lost_sums(recording),
        *unreturned_results(recording),
        *hook_ends(recording),
        *graph_flags(recording),
        *unread_arguments(recording),
        *divided_losses(recording),
        *idle_statements(recording),
        *second_names(recording),
        *gradients_gone(recording),
        *shared_models(recording, modules),
        *read_attributes(recording),
        *stored_entries(recording),
        *selected_parameters(recording),
        *collected_parameters(recording),
        *mode_branches(recording),
        *receivers_bound(recording),
        *clipped_iterators(recording),
        *groups_made(recording),
        *written_in_loops(recording),
        *rounds_left(recording),
    )
    backwards = {name: code for name, code in recording.functions.items() if code is not None}
    functions = {name: _returning(recording, code) for name, code in backwards.items()}
    gradient_sites = {name: _computing(recording, code) for name, code in backwards.items()}
    blind = {name: asked_at(code) for name, code in backwards.items() if ignores_gradients(code)}
    functions |= {
        name: recording.stacks.of_code(backwards[name], line) for name, line in blind.items() if line is not None
    }
    ignored = {name: ignored_gradients(code) for name, code in backwards.items()}
    for note in filter(None, recording.left_out.values()):
        recording.note(note)
    kept = recording.kept.records(recording)
    gradients_kept = tuple(kept_gradients(recording))
    sites = resolve(recording.stacks)
    for text in (*unread(recording.stacks), *lacking()):
        recording.note(text)
    calls = tuple(recording.calls)
    models = model_names(modules, calls, sites)
    names, namespace = tensor_names(modules, models)
    variables = variable_names(recording, sites)
    sharing = Sharing(recording, recorded_nodes)
    nodes = tuple(sharing.nodes(node for _, node in _each(recorded_nodes, keep=keep)))
    tensors = _tensors(recording, names, variables, sharing, keep=keep)
    if not keep:
        recording.registry.entries.fold(len(recording.registry.entries), recording.registry.parameters)
    rank, world_size = rank_here(before=recording.rank)
    by_ranks = divisions_by_ranks(recording, world_size)
    ops = tuple([_op(sharing, i, raw) for i, raw in _each(recording.ops, keep=keep)])
    del sharing
    owners = {tensor: root for root, within in modules.current.items() for tensor in within.values()}
    return Capture(
        ops=ops,
        tensors=tensors,
        sites=sites,
        calls=calls,
        regions=tuple(recording.regions),
        backwards=tuple(recording.backwards),
        nodes=nodes,
        steps=tuple(recording.steps),
        grad_reads=tuple(recording.grad_reads),
        grad_writes=tuple(recording.grad_writes),
        gradients_kept=gradients_kept,
        tensor_hooks=tuple(recording.tensor_hooks),
        requires_grad_changes=tuple(recording.requires_grad_changes),
        events=events,
        replacements=tuple(recording.replacements),
        alias_writes=writes,
        scalar_reentries=tuple(ScalarReentry(*pair) for pair in dict.fromkeys(recording.scalar_reentries)),
        given=_number_arguments(recording, tensors, ops, by_ranks, world_size),
        value_faults=tuple(recording.values.faults) if recording.values else (),
        bad_tensors=tuple(sorted(recording.values.bad)) if recording.values else (),
        gradient_faults=tuple(recording.values.gradient_faults) if recording.values else (),
        leaf_values=tuple(recording.values.leaves) if recording.values else (),
        placement=placement_of(
            recording, tensors, namespace, history, {tensor: models[root] for tensor, root in owners.items()}
        ),
        models=models,
        namespace=namespace,
        owners=owners,
        function_sites=functions,
        gradient_sites=gradient_sites,
        blind_functions=tuple(sorted(blind)),
        ignored_gradients={name: outputs for name, outputs in ignored.items() if outputs},
        alive=recording.alive,
        none_gradients=tuple(recording.none_gradients),
        retained_graphs=kept,
        history=history,
        error=error,
        error_site=recording.error_site,
        error_tensor=recording.error_tensor,
        nonfinite=recording.nonfinite,
        values_read=bool(recording.values),
        vitals=Vitals() if recording.vitals is None else frozen(recording.vitals, tensors),
        notes=tuple(filter(None, (*recording.notes, recording.cutoffs.note(sites)))),
        seconds=seconds,
        torch_version=str(torch.__version__),
        rank=rank,
        world_size=world_size,
    )


def _number_arguments(
    recording: Recording,
    tensors: tuple[TensorRecord, ...],
    ops: tuple[Op, ...],
    by_ranks: dict[int, dict[str, float]],
    world: int,
) -> dict[int, dict[str, float]]:
    """The numbers given to writes to a .grad or through an alias with its own version counter, and those not above 0.

    A number that is zero takes its operand out, a negative one turns its sign. Those as well that were given to what
    computed the operands of a write through such an alias, the indices of assignments to entries that were taken as
    views, and of several ranks what may be how many there are, and where an `arange` begins and ends.
    """
    counted = {op.index for op in ops if not op.inputs}
    turning = {
        op: dict(numbers)
        for op, numbers in recording.number_arguments.items()
        if any(number <= 0 for _, number in numbers) and op not in counted
    }
    turning |= {op: {"1": float(number)} for op, number in recording.scales.items() if number <= 0}
    turning |= by_ranks
    unseen = {op.index for op in ops if op.writes and any(tensors[write.tensor].counter < -1 for write in op.writes)}
    gradients = {read.gradient for read in recording.grad_reads}
    slots = assigned_slots(ops)
    edits = {op.index for op in ops if any(write.tensor in gradients for write in op.writes)}
    wanted, front = set(unseen), unseen
    for _ in range(_OPERANDS):
        front = {tensors[tensor].birth for op in front for tensor in ops[op].inputs} - wanted - {-1}
        wanted |= front
    scales = {op: {"1": float(number)} for op, number in recording.scales.items() if op in wanted}
    # A number that may be how many ranks there are is told of an edit only where the program asked for that.
    shares = shares_of(world)
    told = {
        op: dict(numbers)
        for op, numbers in recording.number_arguments.items()
        if op in unseen
        or op in slots
        or (world > 1 and op in counted)
        or (op in edits and shares.isdisjoint(number for _, number in numbers))
    }
    return told | turning | scales


def _returning(recording: Recording, code: CodeType) -> int:
    """The site of a function's last return statement, else of its definition."""
    scope = definition_of(code)
    return recording.stacks.of_code(code, None if scope is None else last_return(scope))


def _computing(recording: Recording, code: CodeType) -> tuple[int, ...]:
    """The sites that decide on what a function returns."""
    scope = definition_of(code)
    lines = () if scope is None else computed_at(scope)
    return tuple(recording.stacks.of_code(code, line) if line else -1 for line in lines)


def _each(window: Window[T], *, keep: bool) -> Iterator[tuple[int, T]]:
    """(index, record) of all of them."""
    return window.items() if keep else window.drained()


def _op(sharing: Sharing, index: int, raw: RawOp) -> Op:
    name, inputs, versions, outputs, writes, site, call, region, traits, first, last, error = raw
    return Op(
        sharing.numbers[index],
        name,
        sharing.tuple_of(inputs),
        versions,
        sharing.tuple_of(outputs),
        site,
        call,
        region,
        traits,
        sharing.sequence(first),
        sharing.sequence(last),
        writes,
        error,
    )


def _tensors(
    recording: Recording,
    names: dict[int, tuple[str, ...]],
    variables: dict[int, str],
    sharing: Sharing,
    *,
    keep: bool,
) -> tuple[TensorRecord, ...]:
    registry, ledger = recording.registry, recording.ledger
    functions = {
        t: i
        for i, op in recording.ops.items()
        if op[OP_TRAITS] & FUNCTION
        for t in op[OP_OUTPUTS]
        if t not in op[OP_INPUTS]
    }
    records = []
    shared = sharing.number
    shapes: dict[Any, tuple[int, ...]] = {}  # Equal ones are kept once.
    for number, fact in _each(registry.facts, keep=keep):
        shape, dtype, device, leaf, offset, stride, inference, storage, birth, first_use = fact
        requires_grad = registry.entries[number].requires_grad
        birth = functions.get(number, birth)
        if birth >= len(recording.ops):
            birth = -1  # An interrupt struck before the op was recorded.
        if not leaf and birth >= 0:
            leaf = recording.ops[birth][OP_FIRST] == recording.ops[birth][OP_LAST]
        numel = 1
        for size in shape:
            numel *= max(size, 0)  # One that is only a symbol says nothing of the bytes.
        item = dtype.itemsize
        reach = numel and (
            numel if stride is None else 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=False))
        )
        kind: TensorKind = "activation" if birth >= 0 else "input"
        if number in registry.parameters:
            kind = "parameter"
        elif number in registry.buffers:
            kind = "buffer"
        records.append(
            TensorRecord(
                shared(number),
                kind,
                shapes.setdefault(shape, tuple(shape)),
                short(dtype),
                short(device),
                numel * item,
                requires_grad,
                leaf,
                shared(storage),
                offset * item,
                reach * item,
                shared(birth),
                shared(first_use),
                names.get(number, ()),
                variables.get(number, ""),
                inference,
                shared(ledger.counter_of(number, storage)),
                number in registry.call_arguments,
                number in registry.looked_at,
            )
        )
    return tuple(records)


FUNCTION = int(Trait.FUNCTION)
