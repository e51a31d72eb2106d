"""Statements that name a call and do not make it, or make a context and do not enter it, read off the bytecode.

``opt.zero_grad`` without parentheses calls nothing, and ``torch.no_grad()`` without ``with`` switches nothing off:
torch never hears of either. They locate what was observed otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from types import CodeType

from autograd_inspector.capture.lines.bytecode import instructions
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import StatementIdle

_METHODS = frozenset({"zero_grad", "backward", "eval"})
_CONTEXTS = frozenset({"no_grad", "inference_mode"})
_LOADS = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_NAME", "LOAD_GLOBAL")
_BETWEEN = frozenset({"CACHE", "PRECALL", "PUSH_NULL", "NOP"})


def idle_statements(recording: Recording) -> Iterator[StatementIdle]:
    """One event a statement, of the functions of the program that were on the stack of an op, a backward or a step."""
    codes = dict.fromkeys(code for chain in recording.stacks.chains for code, _, library in chain if not library)
    for code in codes:
        if not _METHODS.isdisjoint(code.co_names) or not _CONTEXTS.isdisjoint(code.co_names):
            for line, name, called in _idle(code):
                yield StatementIdle(len(recording.ops), recording.stacks.of_code(code, line), name, called)


def _idle(code: CodeType) -> Iterator[tuple[int, str, bool]]:
    """(line, name, whether it is called) of the statements in a function whose result nothing takes."""
    those = [each for each in instructions(code) if each.opname not in _BETWEEN]
    line, loaded = code.co_firstlineno, ""
    for each, following in pairwise(those):
        if each.positions is not None and each.positions.lineno is not None:
            line = each.positions.lineno
        dropped = following.opname == "POP_TOP"
        if each.opname in _LOADS:
            loaded = str(each.argval)
            if dropped and loaded in _METHODS:
                yield line, loaded, False
        elif each.opname == "CALL" and each.arg == 0:
            if dropped and loaded in _CONTEXTS:
                yield line, loaded, True
            loaded = ""
        else:
            loaded = ""
