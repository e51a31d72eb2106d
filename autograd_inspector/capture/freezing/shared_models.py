"""Models that are one and the same, or shallow copies of each other, under several names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograd_inspector.capture.lines.sources import compiled, source_at
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.program_events import ModelsShared
from autograd_inspector.source import fragments
from autograd_inspector.source.model_names import ModelNames
from autograd_inspector.source.writing import written


def shared_models(recording: Recording, modules: Modules) -> Iterator[ModelsShared]:
    """One event for each line that gives a model another name, or makes a shallow copy of it, where it is called so."""
    held = _held(modules)
    firsts: dict[frozenset[tuple[int, tuple[str, ...]]], int] = {}
    first_of = {root: firsts.setdefault(frozenset(held[root].items()), root) for root in sorted(held)}
    names: dict[int, dict[tuple[str, bool], ModuleCall]] = {}
    for call in recording.calls:
        if not call.path and call.site >= 0 and call.root in first_of:
            name = _called(recording.stacks, call)
            if name:
                another = call.root != first_of[call.root]
                names.setdefault(first_of[call.root], {}).setdefault((name, another), call)
    alike: dict[int, list[int]] = {}
    for root, first in first_of.items():
        alike.setdefault(first, []).append(root)
    for first, calls in names.items():
        models = alike[first]
        for (name, another), call in calls.items() if len(calls) > 1 or len(models) > 1 else ():
            found = _named(recording.stacks, call, name)
            if found is not None and found[1] == another:
                yield ModelsShared(
                    call.at, found[0], name, models[0], len(models), tuple(sorted(held[first])), found[1]
                )


def _held(modules: Modules) -> dict[int, dict[int, tuple[str, ...]]]:
    """Model -> its tensors, by their names in it."""
    held: dict[int, dict[int, tuple[str, ...]]] = {}
    for tensor, roots in modules.names.items():
        for root, names in roots.items():
            held.setdefault(root, {})[tensor] = tuple(names)
    return held


def _called(stacks: Stacks, call: ModuleCall) -> str:
    frame = next((each for each in stacks.chains[call.site] if not each[2]), None)
    tree = None if frame is None else fragments.expression(compiled(*frame[:2], library=False).expression)
    if isinstance(tree, ast.Call) and fragments.is_path(tree.func):
        return written(tree.func)
    return ""


def _named(stacks: Stacks, call: ModuleCall, name: str) -> tuple[int, bool] | None:
    """(the site of the line that gave it that name, whether of a copy)."""
    for code, lasti, library in stacks.chains[call.site]:
        source = None if library else source_at(code.co_filename)
        if source is not None:
            line = compiled(code, lasti, library=False).lineno
            found = source.index(ModelNames).named_at(line, name)
            return None if found is None else (stacks.of_code(code, found.line), found.copied)
    return None
