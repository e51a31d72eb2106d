"""Tape -> Capture: the live side ends here."""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any

import torch

from autograd_inspector.capture.graph_walk.walk import short
from autograd_inspector.capture.lines.aliases import alias_writes
from autograd_inspector.capture.lines.blind import asked_at, ignores_gradients
from autograd_inspector.capture.lines.kept_gradients import kept_gradients
from autograd_inspector.capture.lines.option_lines import option_changes
from autograd_inspector.capture.lines.sources import definition_of, resolve, unread
from autograd_inspector.capture.lines.state_changes import state_changes
from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.observers.modules.naming import model_names, tensor_names, variable_names
from autograd_inspector.capture.observers.optimizers.placing import placement_of
from autograd_inspector.capture.observers.optimizers.spread import rank_here
from autograd_inspector.capture.recording import Tape
from autograd_inspector.capture.retention.retained_results import kept_records
from autograd_inspector.capture.torch_private.resolving import notes as lacking
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import Return
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.steps_history import History
from autograd_inspector.model.tensor import TensorKind, TensorRecord


def freeze(tape: Tape, modules: Modules, history: History, *, seconds: float, error: str) -> Capture:
    """All records of a finished capture; ``history`` tells of the steps that are no longer in it."""
    tape.ledger.update(tape)
    writes = tuple(alias_writes(tape))
    changes = (*tape.changes, *option_changes(tape, error), *state_changes(tape))
    backwards = {name: code for name, code in tape.functions.items() if code is not None}
    functions = {name: _returning(tape, code) for name, code in backwards.items()}
    blind = {name: asked_at(code) for name, code in backwards.items() if ignores_gradients(code)}
    functions |= {name: tape.stacks.of_code(backwards[name], line) for name, line in blind.items() if line is not None}
    for note in filter(None, tape.left_out.values()):
        tape.note(note)
    kept = kept_records(tape)
    gradients_kept = tuple(kept_gradients(tape))
    sites = resolve(tape.stacks)
    for text in (*unread(tape.stacks), *lacking()):
        tape.note(text)
    calls = tuple(tape.calls)
    models = model_names(modules, calls, sites)
    names = tensor_names(modules, models)
    ops = tuple([Op(i, *raw[:4], *raw[5:11], raw[4], raw[11]) for i, raw in tape.ops.items()])
    variables = variable_names(tape, sites)
    tensors = _tensors(tape, names, variables)
    rank, world_size = rank_here(before=tape.rank)
    owners = {tensor: root for root, within in modules.current.items() for tensor in within.values()}
    return Capture(
        ops=ops,
        tensors=tensors,
        sites=sites,
        calls=calls,
        regions=tuple(tape.regions),
        backwards=tuple(tape.backwards),
        nodes=tuple(tape.recorded.nodes),
        steps=tuple(tape.steps),
        grad_reads=tuple(tape.grad_reads),
        grad_writes=tuple(tape.grad_writes),
        gradients_kept=gradients_kept,
        tensor_hooks=tuple(tape.tensor_hooks),
        leaf_changes=tuple(tape.leaf_changes),
        changes=changes,
        exchanges=tuple(tape.exchanges),
        alias_writes=writes,
        returns=tuple(Return(*pair) for pair in dict.fromkeys(tape.returns)),
        given=_given(tape, tensors, ops),
        value_faults=tuple(tape.values.faults) if tape.values else (),
        bad_tensors=tuple(sorted(tape.values.bad)) if tape.values else (),
        gradient_faults=tuple(tape.values.gradient_faults) if tape.values else (),
        leaf_values=tuple(tape.values.leaves) if tape.values else (),
        placement=placement_of(
            tape, tensors, names, history, {tensor: models[root] for tensor, root in owners.items()}
        ),
        models=models,
        owners=owners,
        function_sites=functions,
        blind_functions=tuple(sorted(blind)),
        alive=tape.alive,
        gaps=tuple(tape.gaps),
        kept=kept,
        history=history,
        error=error,
        error_site=tape.error_site,
        error_tensor=tape.error_tensor,
        nonfinite=tape.nonfinite,
        values_read=bool(tape.values),
        notes=tuple(filter(None, (*tape.notes, tape.cutoffs.note(sites)))),
        seconds=seconds,
        torch_version=str(torch.__version__),
        rank=rank,
        world_size=world_size,
    )


def _given(tape: Tape, tensors: tuple[TensorRecord, ...], ops: tuple[Op, ...]) -> dict[int, dict[str, float]]:
    """The numbers given to writes through an alias that has a version counter of its own; of no other it matters."""
    return {
        op: dict(numbers)
        for op, numbers in tape.given.items()
        if any(tensors[write.tensor].counter < -1 for write in ops[op].writes)
    }


def _returning(tape: Tape, code: CodeType) -> int:
    """The site of a function's last return statement, else of its definition."""
    scope = definition_of(code)
    if scope is None:
        return tape.stacks.of_code(code)
    lines = [node.lineno for node in ast.walk(scope) if isinstance(node, ast.Return)]
    return tape.stacks.of_code(code, max(lines, default=scope.lineno))


def _tensors(tape: Tape, names: dict[int, tuple[str, ...]], variables: dict[int, str]) -> tuple[TensorRecord, ...]:
    registry, ledger = tape.registry, tape.ledger
    functions = {t: i for i, op in tape.ops.items() if op[8] & FUNCTION for t in op[3] if t not in op[1]}
    found = []
    for number, fact in registry.facts.items():
        shape, dtype, device, leaf, offset, stride, inference, storage, birth, first_use = fact
        requires_grad = registry.entries[number].requires_grad
        birth = functions.get(number, birth)
        if birth >= len(tape.ops):
            birth = -1  # An interrupt struck before the op was recorded.
        if not leaf and birth >= 0:
            leaf = tape.ops[birth][9] == tape.ops[birth][10]
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
        found.append(
            TensorRecord(
                number,
                kind,
                _SHAPES.setdefault(shape, tuple(shape)),
                short(dtype),
                short(device),
                numel * item,
                requires_grad,
                leaf,
                storage,
                offset * item,
                reach * item,
                birth,
                first_use,
                names.get(number, ()),
                variables.get(number, ""),
                inference,
                ledger.counter_of(number, storage),
            )
        )
    return tuple(found)


FUNCTION = int(Trait.FUNCTION)
_SHAPES: dict[Any, tuple[int, ...]] = {}
