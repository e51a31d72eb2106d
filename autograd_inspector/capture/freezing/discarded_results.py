"""New values of parameters, or of gradients, that nothing ever used: ``p.clamp(-1, 1)`` for ``p.clamp_(-1, 1)``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from autograd_inspector.capture.freezing.handed_back import ENTRY, HandedBack, Taking
from autograd_inspector.capture.recording.raw_records import (
    OP_CALL,
    OP_ERROR,
    OP_INPUTS,
    OP_NAME,
    OP_OUTPUTS,
    OP_SITE,
    OP_TRAITS,
    OP_WRITES,
    RawOp,
)
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import ResultDiscarded

_ASIDE = int(Trait.BACKWARD | Trait.STEP | Trait.INNER | Trait.EXPORT | Trait.COLLECTIVE)
METHODS = ("Tensor.", "_handle_torch_function")
"""Methods of tensors that torch has written in Python begin so: `1 - p`."""
_ALIASING = "detach"
"""Returns an alias, in the parameter's own memory. One that is given a name may have been meant to be looked at."""
STACKING = frozenset({"stack", "cat", "concat", "concatenate"})
"""Puts the values of several parameters side by side, for an average."""
_VARIABLES = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")


def discarded_results(recording: Recording) -> Iterator[ResultDiscarded]:
    """One event for each place all of whose results are gone unread.

    What a statement drops is gone at once. What it gives a name may have been meant for later: not where the next
    parameter's value took that name. Nor, in a dictionary, where that of the next round did.
    """
    told = set[int]()
    for event in _of(recording, memory_of_parameters(recording), "parameters"):
        told.add(event.site)
        yield event
    for event in _of(recording, memory_of_gradients(recording), "gradients"):
        if event.site not in told:
            yield event


def _of(
    recording: Recording, memory: dict[int, int], of: Literal["parameters", "gradients"]
) -> Iterator[ResultDiscarded]:
    """Those of what was computed from what lies in some memory."""
    results = _results(recording, memory)
    assigned = {write.gradient for write in recording.grad_writes} if results else ()
    begun = {root for run in recording.backwards for root in run.roots} if results else ()
    unread = set(results).difference(assigned, begun)
    for _, op in recording.ops.items() if unread else ():
        unread.difference_update(op[OP_INPUTS])
    by_site: dict[int, list[int]] = {}
    for result, (index, _) in results.items():
        by_site.setdefault(recording.ops[index][OP_SITE], []).append(result)
    gone = {result for result in unread if is_gone(recording, result)}
    handed_back = HandedBack(recording)
    for site, members in by_site.items():
        last = results[members[-1]][0]
        several = len(members) > 1 and recording.ops[last][OP_NAME] != _ALIASING
        rounds = several and of == "parameters"  # Statistics of gradients are kept by name, until the next round's.
        again = rounds and _in_rounds(recording, [results[member][0] for member in members])
        taking = handed_back.taking(site, METHODS) if gone.issuperset(members) else None
        if taking is None or not is_dropped(taking, several=several, again=again):
            continue
        tensors = tuple(dict.fromkeys(tensor for result in members for tensor in results[result][1]))
        name = recording.ops[last][OP_NAME]
        if not taking.depth:
            yield ResultDiscarded(last, site, name, tensors, of=of)
        elif handed_back.without_effect(taking):
            yield ResultDiscarded(last, handed_back.site(taking), name, tensors, of=of, function=taking.function)


def memory_of_parameters(recording: Recording) -> dict[int, int]:
    """Storage -> the parameter that lies there."""
    registry = recording.registry
    entries = ((number, registry.entries.get(number)) for number in registry.parameters)
    return {entry.storage: number for number, entry in entries if entry is not None and entry.storage >= 0}


def memory_of_gradients(recording: Recording) -> dict[int, int]:
    """Storage -> the parameter whose gradient lies there, of those that an optimizer stepped with."""
    known = recording.registry.entries
    pairs = ((known.get(each.gradient), each.tensor) for step in recording.steps for each in step.parameters)
    return {entry.storage: tensor for entry, tensor in pairs if entry is not None and entry.storage >= 0}


def _results(recording: Recording, memory: dict[int, int]) -> dict[int, tuple[int, tuple[int, ...]]]:
    """Result -> its op, and the parameters whose memory went into it, of the same shape, outside of any module."""
    registry = recording.registry
    results: dict[int, tuple[int, tuple[int, ...]]] = {}
    stacked: dict[int, tuple[int, ...]] = {}
    for index, op in recording.ops.items() if memory else ():
        if op[OP_CALL] < 0 and _computes(op):
            (output,) = op[OP_OUTPUTS]
            entry = registry.entries.get(output)
            shape = None if entry is None else registry.facts[output][0]
            if entry is None or not shape:
                continue
            if entry.storage in memory:
                if op[OP_NAME] == _ALIASING:
                    results[output] = index, (memory[entry.storage],)
                continue
            of = _origins(recording, op, shape, memory, results, stacked)
            if of and op[OP_NAME] in STACKING:
                stacked[output] = tuple(of)
            elif of:
                results[output] = index, tuple(of)
    return results


def _origins(
    recording: Recording,
    op: RawOp,
    shape: tuple[int, ...],
    memory: dict[int, int],
    results: dict[int, tuple[int, tuple[int, ...]]],
    stacked: dict[int, tuple[int, ...]],
) -> dict[int, None]:
    """The parameters of a shape whose values an op read, itself or by an earlier result."""
    registry = recording.registry
    of: dict[int, None] = {}
    for tensor in op[OP_INPUTS]:
        known = registry.entries.get(tensor)
        if known is not None and tensor in stacked:
            of |= dict.fromkeys(each for each in stacked[tensor] if registry.facts[each][0] == shape)
        elif known is not None and (registry.facts[tensor][0] == shape or op[OP_NAME] in STACKING):
            of |= dict.fromkeys(results[tensor][1] if tensor in results else ())
            of |= dict.fromkeys([memory[known.storage]] if known.storage in memory else ())
    return of


def _computes(op: RawOp) -> bool:
    """Whether an op returned one tensor and modified none."""
    return len(op[OP_OUTPUTS]) == 1 and not (op[OP_WRITES] or op[OP_ERROR] or op[OP_TRAITS] & _ASIDE)


def is_gone(recording: Recording, result: int) -> bool:
    """Whether a tensor is no longer there, and nothing but torch's own calls that return tensors was given it."""
    entry = recording.registry.entries.get(result)
    return entry is not None and entry() is None and result not in recording.registry.looked_at


def _in_rounds(recording: Recording, made: list[int]) -> bool:
    """Whether an optimizer stepped between the first and the last of some ops."""
    return any(made[0] < step.at < made[-1] for step in recording.steps)


def is_dropped(taking: Taking, *, several: bool = False, again: bool = False) -> bool:
    """Whether the program's statement keeps no result: it drops it, or gives one name, or one key, several in turn."""
    by = taking.by
    return by == "POP_TOP" or (several and by.startswith(_VARIABLES)) or (again and by == ENTRY)
