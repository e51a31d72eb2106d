"""Where the program stores what it puts together later: ``torch.stack(self.obs)``, whose entries are one tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograd_inspector.capture.lines.sources import compiled, source_at
from autograd_inspector.capture.recording.raw_records import OP_INPUTS, OP_SITE
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import TensorHeld
from autograd_inspector.source import fragments
from autograd_inspector.source.index import Source
from autograd_inspector.source.stores import Stores
from autograd_inspector.source.writing import written

_FEWEST = 3
"""Times that an op was given a tensor: `x * x` is no container."""
_PASSING = frozenset({"list", "tuple"})


def stored_entries(recording: Recording) -> Iterator[TensorHeld]:
    """One event for each line that puts such entries together, if one line of the file alone stores them."""
    told: set[int] = set()
    for at, op in enumerate(recording.ops):
        inputs, site = op[OP_INPUTS], op[OP_SITE]
        if len(inputs) < _FEWEST or site < 0 or site in told or inputs.count(inputs[0]) < _FEWEST:
            continue
        told.add(site)
        for code, lasti, library in recording.stacks.chains[site][:1]:
            source = None if library else source_at(code.co_filename)
            place = compiled(code, lasti, library=False)
            container = _container(place.expression)
            line = 0 if source is None or container is None else _stored(source, container, place.lineno)
            if line and container is not None:
                name, path = written(container).rpartition(".")[2], written(container)
                yield TensorHeld(at, recording.stacks.of_code(code, line), inputs[0], "", name, path)


def _container(text: str) -> ast.expr | None:
    """``self.obs`` of ``torch.stack(self.obs)``, ``torch.stack([*self.obs])`` and ``torch.cat(list(self.obs))``."""
    match fragments.expression(text):
        case ast.Call(args=[given, *_]):
            match given:
                case ast.List(elts=[ast.Starred(value=inner)]) | ast.Tuple(elts=[ast.Starred(value=inner)]):
                    given = inner
                case ast.Call(func=ast.Name(id=function), args=[inner]) if function in _PASSING:
                    given = inner
            return given if fragments.is_path(given) else None
    return None


def _stored(source: Source, container: ast.expr, line: int) -> int:
    """The line that adds to it, of an attribute in a method of the class around; 0: none does, or several."""
    scopes = [*source.scopes_around(line)]
    if isinstance(container, ast.Attribute):
        added = source.index(Stores).into(f".{container.attr}")
        around = _class_around(source, scopes[0])
        lines = {store.line for store in added if store.within[:1] == around}
        lines = {each for each in lines if getattr(source.scope_at(each), "name", "") != "__init__"}
    else:
        lines = {store.line for store in source.index(Stores).into(written(container))}
        lines = {each for each in lines if source.scope_at(each) in scopes}
    return lines.pop() if len(lines) == 1 else 0


def _class_around(source: Source, scope: ast.AST) -> tuple[str, ...]:
    node: ast.AST | None = scope
    while node is not None and not isinstance(node, ast.ClassDef):
        node = source.parents.get(node)
    return () if node is None else (node.name,)
