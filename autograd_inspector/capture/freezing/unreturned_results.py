"""New gradients that a hook computes and does not return: ``grad = grad.clamp(-1, 1)`` as the last line of a hook."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType

from autograd_inspector.capture.freezing.discarded_results import is_gone
from autograd_inspector.capture.lines.bytecode import dropped_at, value_returns
from autograd_inspector.capture.recording.raw_records import (
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
from autograd_inspector.model.program_events import HookEnds, ResultDiscarded

_DIFFERENTIATES = "grad"
_ASIDE = int(Trait.STEP | Trait.INNER | Trait.EXPORT | Trait.COLLECTIVE)


def unreturned_results(recording: Recording) -> Iterator[ResultDiscarded]:
    """One event for each instruction of a hook that returns nothing, where all that it made is gone unread.

    The result has the shape of what it was made of, and the hook looks it up nowhere below.
    """
    hooks = {code: name for code, name in recording.hook_codes.items() if not any(value_returns(code))}
    made: dict[int, list[int]] = {}
    for index, op in recording.ops.items() if hooks else ():
        code = _code(recording, op)
        if code in hooks and _makes_another(recording, op):
            made.setdefault(op[OP_SITE], []).append(index)
    read = {tensor for _, op in recording.ops.items() for tensor in op[OP_INPUTS]} if made else set()
    for site, indices in made.items():
        results = [recording.ops[index][OP_OUTPUTS][0] for index in indices]
        code, lasti, _ = recording.stacks.chains[site][0]
        if read.isdisjoint(results) and dropped_at(code, lasti) and all(is_gone(recording, each) for each in results):
            last = indices[-1]
            on = dict.fromkeys(hook.tensor for hook in recording.tensor_hooks if hook.name == hooks[code])
            yield ResultDiscarded(last, site, recording.ops[last][OP_NAME], tuple(on), in_hook=True)


def hook_ends(recording: Recording) -> Iterator[HookEnds]:
    """One event for each hook that returns nothing, and differentiated while it ran."""
    hooks = {code: name for code, name in recording.hook_codes.items() if not any(value_returns(code))}
    asking = {
        code
        for _, op in (recording.ops.items() if hooks else ())
        if op[OP_NAME] == _DIFFERENTIATES and op[OP_TRAITS] & Trait.BACKWARD and op[OP_SITE] >= 0
        for code, _, _ in recording.stacks.chains[op[OP_SITE]]
    }
    for code in asking & hooks.keys():
        last = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
        yield HookEnds(len(recording.ops), recording.stacks.of_code(code, last), hooks[code])


def _code(recording: Recording, op: RawOp) -> CodeType | None:
    """The function of the program that ran an op while backward ran."""
    if not op[OP_TRAITS] & Trait.BACKWARD or not 0 <= op[OP_SITE] < len(recording.stacks.chains):
        return None
    chain = recording.stacks.chains[op[OP_SITE]]
    return chain[0][0] if chain else None


def _makes_another(recording: Recording, op: RawOp) -> bool:
    """Whether it returned one tensor of the shape of what it was given, and modified none."""
    if len(op[OP_OUTPUTS]) != 1 or op[OP_WRITES] or op[OP_ERROR] or op[OP_TRAITS] & _ASIDE:
        return False
    facts = recording.registry.facts
    result, given = op[OP_OUTPUTS][0], [tensor for tensor in op[OP_INPUTS] if tensor in facts]
    return result in facts and result not in given and any(facts[each][0] == facts[result][0] for each in given)
