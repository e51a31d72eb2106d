"""Switches of the grad mode in a captured graph, which says when one is thrown, and not by which line."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from types import CodeType

import torch

from autograd_inspector.capture.compiled.code_places import Frame
from autograd_inspector.capture.lines.sources import RESUMED, line_at, source_at
from autograd_inspector.capture.lines.thrown import Thrown
from autograd_inspector.source.blocks import Blocks
from autograd_inspector.source.called_alone import CalledAlone
from autograd_inspector.source.index import Function, Source

AS_FUNCTION = "set_grad_enabled"
_CALLS = {False: ("no_grad", "set_grad_enabled", "inference_mode"), True: ("enable_grad", "set_grad_enabled")}


def thrown(frames: tuple[Frame, ...], torchs: Sequence[tuple[str, int]], *, enabled: bool) -> Thrown:
    """The switch around an op. ``frames``: the lines outside torch of that op; ``torchs``: those in torch beneath."""
    library, name = _by_torch(torchs, enabled=enabled)
    if library:
        return Thrown(name, frames, library=library)
    name, line, place = _place_of(frames, enabled=enabled)
    chain = frames[place:]
    if line:
        code, _, of_library = chain[0]
        return Thrown(name, ((code, -1 - line, of_library), *chain[1:]))
    return Thrown(name, chain, chain[0][0]) if chain else Thrown(name, frames)


def is_written(switch: Thrown) -> bool:
    """Whether the program's code has that very switch: a block, a call, or a decorator of that name."""
    if switch.decorated is None:
        return not switch.library and any(at < 0 for _, at, _ in switch.frames[:1])
    source = source_at(switch.decorated.co_filename)
    definition = source.definition_at(switch.decorated.co_firstlineno) if source is not None else None
    return bool(_names(definition) & {name for names in _CALLS.values() for name in names})


def is_around(switch: Thrown, frames: tuple[Frame, ...], *, enabled: bool) -> bool:
    """Whether the code of a switch is still running where an op has these lines: the op may be in a call beneath it.

    A mode that a plain call has set stays on when its function returns.
    """
    if switch.library or not switch.frames or (switch.name == AS_FUNCTION and switch.decorated is None):
        return True
    if switch.decorated is not None:
        return any(code is switch.decorated for code, _, _ in frames)
    block = switch.frames[0]
    return any(thrown(frames[place:], (), enabled=enabled).frames[:1] == (block,) for place in range(len(frames)))


def _by_torch(places: Sequence[tuple[str, int]], *, enabled: bool) -> tuple[str, str]:
    """(torch's own module that threw a switch, what it called), from the lines of its code; ("", "") where none did."""
    home = Path(torch.__file__).parent.parent
    for filename, line in places:
        source = source_at(filename)
        if source is None or not Path(filename).is_relative_to(home):
            continue
        name = next((name for name in _CALLS[enabled] if source.index(Blocks).around(line, name)), "")
        if name or _decorators(source, line) & set(_CALLS[enabled]):
            inside = Path(filename).relative_to(home).with_suffix("")
            return ".".join(inside.parts), name or _CALLS[enabled][0]
    return "", ""


def _decorators(source: Source, line: int) -> set[str]:
    """What is written above the function around a line: ``no_grad`` of ``@torch.no_grad()``."""
    return _names(source.scope_at(line))


def _names(definition: ast.AST | None) -> set[str]:
    written = getattr(definition, "decorator_list", [])
    called = [each.func if isinstance(each, ast.Call) else each for each in written]
    return {getattr(each, "attr", getattr(each, "id", "")) for each in called}


def _place_of(frames: Sequence[Frame], *, enabled: bool) -> tuple[str, int, int]:
    """(what was called, the line of its block, in which frame); no line: a decorator of that frame's function."""
    for place, (code, at, library) in enumerate(frames):
        source = None if library else source_at(code.co_filename)
        if source is None:
            continue
        blocks, line = source.index(Blocks), line_at(code, at)
        found = max((blocks.around(line, name), name) for name in _CALLS[enabled])
        first = _first_line(source, code, line)
        if found[0] >= first:
            return found[1], found[0], place
        called = source.index(CalledAlone).before(line, AS_FUNCTION, first)
        if called:
            return AS_FUNCTION, called, place
        definition = source.definition_at(code.co_firstlineno)
        if definition is not None and definition.decorator_list:
            return _CALLS[enabled][0], 0, place
    return _CALLS[enabled][0], 0, len(frames)


def _first_line(source: Source, code: CodeType, line: int) -> int:
    """Of the function that a line is in; code that goes on after a graph break begins there."""
    scope = source.scope_at(line)
    return scope.lineno if code.co_name.startswith(RESUMED) and isinstance(scope, Function) else code.co_firstlineno
