"""Which hook a backward failed at, and where it returned what torch refused: the engine says the name at most."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from types import CodeType, TracebackType
from typing import Any

from torch import Tensor

from autograd_inspector.capture.lines.bytecode import value_returns
from autograd_inspector.capture.lines.callables import code_of, name_of
from autograd_inspector.capture.lines.sources import definition_of
from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.capture.observers.backward.failing_node import Failure, number_of
from autograd_inspector.capture.recording.raw_records import OP_OUTPUTS, OP_SITE
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import shape_of
from autograd_inspector.capture.torch_private.tensors import gradient_hooks, post_accumulate_hooks
from autograd_inspector.model.program_events import HookRefused
from autograd_inspector.model.torch_errors import TorchError, says

_MODULES = ("torch", "utils", "hooks.py")
_RESULTS = {
    "out": ("hook", "register_full_backward_hook"),
    "hook_grad_outputs": ("user_pre_hook", "register_full_backward_pre_hook"),
    "res": ("user_hook", "register_full_backward_hook"),
}
"""What torch's own function that calls the hooks of a module calls a result -> (the hook, what registers such)."""


def note_refused(recording: Recording, failure: Failure, number: int, text: str) -> None:
    """Note the hook whose result the engine, or what calls the hooks of a module, would not go on with."""
    event = _of_module(recording, failure, number)
    said = says(text, TorchError.HOOK_RESULT)
    if event is None and said is not None:
        event = _of_tensor(recording, failure, number, said)
    if event is not None:
        recording.events.append(event)


def _of_module(recording: Recording, failure: Failure, number: int) -> HookRefused | None:
    """Torch's frame that called the hook still holds it and its result, unless the hook itself raised."""
    frame = None
    traceback: TracebackType | None = failure.error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if tuple(code.co_filename.replace("\\", "/").split("/")[-3:]) == _MODULES:
            frame = traceback.tb_frame
        elif classify(code.co_filename) == USER:
            frame = None
        traceback = traceback.tb_next
    if frame is None:
        return None
    held = frame.f_locals
    owner = getattr(held.get("self"), "module", None)
    for result, (hook, method) in _RESULTS.items():
        called = held.get(hook)
        if held.get(result) is None or called is None or owner is None:
            continue
        site = _returning(recording, code_of(called), number)[0]
        kind, returned = type(owner).__name__, _described(held[result])
        return HookRefused(len(recording.ops), site, name_of(called), method, type=kind, returned=returned, run=number)
    return None


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"one tensor, of shape {list(shape_of(value))},"
    return f"{len(value)} values" if isinstance(value, (tuple, list)) else f"a value of type {type(value).__name__}"


def _of_tensor(recording: Recording, failure: Failure, number: int, said: re.Match[str]) -> HookRefused:
    """The hook that ran last of those with that name, if its own ops tell; else the only one, else all of them."""
    name, changed, was, got, kind, post = said.groups()
    hooked = [(on, hook) for on, hook in _hooks(failure, post=bool(post)) if name in {None, _short(hook)}]
    codes = {code: name_of(hook) for _, hook in hooked if (code := code_of(hook)) is not None}
    ran = next((code for code, _, _ in _inside(recording, codes, number)), None)
    code = next(iter(codes), None) if ran is None and len(codes) == 1 else ran
    on = [tensor for tensor, hook in hooked if code is None or code_of(hook) is code]
    site, result = _returning(recording, code, number)
    shapes = {tuple(shape_of(tensor)) for tensor in on} if changed == "size" else set()
    facts = recording.registry.facts
    known = result in facts and facts[result][0] not in shapes
    returned = f"a value of type {got or kind}" if got or kind else ""
    if shapes and known:
        returned = f"a tensor of shape {list(facts[result][0])}"
    method = ("register_post_accumulate_grad_hook" if post else "register_hook") if on else "Node.register_hook"
    return HookRefused(
        len(recording.ops),
        site,
        name or "" if code is None else codes[code],
        method,
        tuple(map(recording.id_of, on)),
        given=was or (f"shape {list(shapes.pop())}" if len(shapes) == 1 and known else ""),
        returned=returned,
        run=number,
    )


def _hooks(failure: Failure, *, post: bool) -> Iterator[tuple[Tensor, Any]]:
    """The hooks that are on the tensors of the run now."""
    for tensor in failure.tensors:
        if number_of(failure, tensor) >= 0:
            for hook in ((post_accumulate_hooks if post else gradient_hooks)(tensor) or {}).values():
                yield tensor, hook


def _short(hook: Any) -> str:
    return name_of(hook).rpartition(".")[2]


def _returning(recording: Recording, code: CodeType | None, number: int) -> tuple[int, int]:
    """(site of the statement that returned it, what an op made there); the last return, if that is not known."""
    if code is None or classify(code.co_filename) != USER:
        return recording.backwards[number].site, -1
    _, line, made = next(_inside(recording, {code}, number), (code, 0, -1))
    spans = _returns(code)
    for first, end in spans:
        if first <= line <= end:
            return recording.stacks.of_code(code, first), made
    return recording.stacks.of_code(code, spans[-1][0] if spans else code.co_firstlineno), -1


def _returns(code: CodeType) -> list[tuple[int, int]]:
    """First and last line of each statement of a function that returns what it computed."""
    lines, definition = list(value_returns(code)), definition_of(code)
    if code.co_name == "<lambda>" or definition is None:
        return [(min(lines), max(lines))] if lines else []
    found = [node for node in ast.walk(definition) if isinstance(node, ast.Return) and node.value is not None]
    return sorted((node.lineno, node.end_lineno or node.lineno) for node in found)


def _inside(recording: Recording, codes: Collection[CodeType], number: int) -> Iterator[tuple[CodeType, int, int]]:
    """(the hook's code, its line then, the result) of the ops that hooks with that code ran, the last first."""
    chains = recording.stacks.chains
    for _, op in reversed(list(recording.ops.items(recording.backwards[number].start))):
        chain = chains[op[OP_SITE]] if 0 <= op[OP_SITE] < len(chains) else []
        for code, lasti, _ in chain:
            if code in codes:
                lines = (line for start, end, line in code.co_lines() if start <= lasti < end and line)
                yield code, next(lines, code.co_firstlineno), op[OP_OUTPUTS][-1] if op[OP_OUTPUTS] else -1
                break
