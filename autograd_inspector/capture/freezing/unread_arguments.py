"""What the functions that made losses were given, and do not read: losses that a library calls backward() on."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType

from autograd_inspector.capture.lines.bytecode import instructions
from autograd_inspector.capture.recording.raw_records import FACT_BIRTH, OP_INPUTS, OP_SITE
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import ArgumentUnread

_DEEPEST = 12


def unread_arguments(recording: Recording) -> Iterator[ArgumentUnread]:
    """One event for each function around such a loss that never loads one parameter, and that has no ``**kwargs``."""
    told: set[CodeType] = set()
    for run in recording.backwards:
        chain = recording.stacks.chains[run.site] if run.site >= 0 else []
        if run.api != "backward" or not chain or not chain[0][2] or len(run.roots) != 1:
            continue
        for code in {code: None for code, _, library in _made_in(recording, run.roots[0]) if not library}:
            unread = () if code in told else _unread(code)
            told.add(code)
            if len(unread) == 1:
                yield ArgumentUnread(run.start, recording.stacks.of_code(code), code.co_qualname, unread[0])


def _made_in(recording: Recording, tensor: int) -> list[tuple[CodeType, int, bool]]:
    """The frames of the op of the program's that made it; a library's that has one input only hands that on."""
    for _ in range(_DEEPEST):
        facts = recording.registry.facts
        op = (
            recording.ops.get(facts[tensor][FACT_BIRTH]) if tensor in facts and facts[tensor][FACT_BIRTH] >= 0 else None
        )
        chain = recording.stacks.chains[op[OP_SITE]] if op is not None and op[OP_SITE] >= 0 else []
        if op is None or not chain or not chain[0][2]:
            return chain
        if len(op[OP_INPUTS]) != 1:
            return []
        tensor = op[OP_INPUTS][0]
    return []


def _unread(code: CodeType) -> tuple[str, ...]:
    if code.co_flags & inspect.CO_VARKEYWORDS:
        return ()
    owner = code.co_qualname.rpartition(".")[0]
    method = bool(owner) and not owner.endswith("<locals>")
    given = code.co_varnames[int(method) : code.co_argcount + code.co_kwonlyargcount]
    named = set(code.co_cellvars)
    for each in instructions(code):
        if not each.opname.startswith("STORE"):
            names = each.argval if isinstance(each.argval, tuple) else (each.argval,)
            named.update(name for name in names if isinstance(name, str))
    return tuple(name for name in given if name not in named)
