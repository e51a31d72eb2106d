"""New values of parameters, or of gradients, that nothing ever used: ``p.clamp(-1, 1)`` for ``p.clamp_(-1, 1)``."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import Literal

from autograd_inspector.capture.lines.bytecode import instructions
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
_METHODS = ("Tensor.", "_handle_torch_function")
"""Methods of tensors that torch has written in Python begin so: `1 - p`."""
_ALIASING = "detach"
"""Returns an alias, in the parameter's own memory. One that is given a name may have been meant to be looked at."""
_ENTRY = "STORE_SUBSCR"
_PUSHED = 5
_STACKING = frozenset({"stack", "cat", "concat", "concatenate"})
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
    for event in _of(recording, _memory_of_gradients(recording), "gradients"):
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
    takers = Takers()
    for site, members in by_site.items():
        last = results[members[-1]][0]
        several = len(members) > 1 and recording.ops[last][OP_NAME] != _ALIASING
        rounds = several and of == "parameters"  # Statistics of gradients are kept by name, until the next round's.
        again = rounds and _in_rounds(recording, [results[member][0] for member in members])
        if gone.issuperset(members) and is_dropped(recording, takers, site, several=several, again=again):
            tensors = dict.fromkeys(tensor for result in members for tensor in results[result][1])
            yield ResultDiscarded(last, site, recording.ops[last][OP_NAME], tuple(tensors), of=of)


def memory_of_parameters(recording: Recording) -> dict[int, int]:
    """Storage -> the parameter that lies there."""
    registry = recording.registry
    entries = ((number, registry.entries.get(number)) for number in registry.parameters)
    return {entry.storage: number for number, entry in entries if entry is not None and entry.storage >= 0}


def _memory_of_gradients(recording: Recording) -> dict[int, int]:
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
            if of and op[OP_NAME] in _STACKING:
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
        elif known is not None and (registry.facts[tensor][0] == shape or op[OP_NAME] in _STACKING):
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


def is_dropped(recording: Recording, takers: Takers, site: int, *, several: bool = False, again: bool = False) -> bool:
    """Whether the program's statement keeps no result: it drops it, or gives one name, or one key, several in turn."""
    chain = recording.stacks.chains[site] if 0 <= site < len(recording.stacks.chains) else []
    through = recording.stacks.through.get(site, "")
    if not chain or chain[0][2] or (through and not through.startswith(_METHODS)):
        return False  # The business of a library, or of a function of torch's: it may put the result where it belongs.
    taking = takers.of(chain[0][0], chain[0][1])
    return taking == "POP_TOP" or (several and taking.startswith(_VARIABLES)) or (again and taking == _ENTRY)


class Takers:
    """What takes the results of a function's instructions; each function is read once."""

    def __init__(self) -> None:
        self._known: dict[CodeType, dict[int, str]] = {}

    def of(self, code: CodeType, lasti: int) -> str:
        """The name of the instruction that takes what the one there returned; "" unknown."""
        takers = self._known.get(code)
        if takers is None:
            those = [each for each in instructions(code) if each.opname != "CACHE"]
            takers = self._known[code] = {
                one.offset: _taker([each.opname for each in those[at : at + _PUSHED]])
                for at, one in enumerate(those, start=1)
            }
        return takers.get(lasti, "")


def _taker(following: list[str]) -> str:
    """The instruction that takes a value: to store it in a container, that and the key are pushed on top of it."""
    storing = following.index(_ENTRY) if _ENTRY in following else 0
    if all(opname.startswith("LOAD_") for opname in following[:storing]):
        return following[storing] if following else ""
    return following[0]
