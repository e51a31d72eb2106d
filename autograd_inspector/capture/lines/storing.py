"""The line that put a tensor where the program holds it: looked up in the source, of what was seen to hold it."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FrameType

from autograd_inspector.capture.lines.attributes import order_of
from autograd_inspector.capture.lines.holders import Holder, methods_of
from autograd_inspector.capture.lines.sources import compiled, source_at
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.source.blocks import Blocks
from autograd_inspector.source.stores import Store, Stores

_Candidate = tuple[CodeType, Store]
"""A line that stores, and code of its file."""


def stored_at(stacks: Stacks, holder: Holder, made: int) -> int:
    """The site of that line, -1 where it cannot be told from others; ``made``: the site of what made the tensor."""
    chain = [(code, lasti) for code, lasti, library in stacks.chains[made] if not library] if made >= 0 else []
    key = holder.name if holder.kind is None else f".{holder.name}"
    files: dict[str, CodeType] = {code.co_filename: code for code in (holder.code, *(code for code, _ in chain))}
    if holder.kind is not None:
        for code in methods_of(holder.kind):
            files.setdefault(code.co_filename, code)
    candidates: list[_Candidate] = []
    for filename, code in files.items():
        source = source_at(filename)
        stores = source.index(Stores).into(key) if source is not None else []
        candidates += [(code, store) for store in stores if holder.kind is not None or _of_variable(store, holder)]
    own = {base.__name__ for base in order_of(holder.kind)} if holder.kind is not None else set()
    inside = [pair for pair in candidates if own.intersection(pair[1].within)]
    near = _nearest(chain, inside) or _nearest(chain, candidates) or _only(inside) or _only(candidates)
    return -1 if near is None else stacks.of_code(near[0], near[1].line)


def _only(candidates: list[_Candidate]) -> _Candidate | None:
    """The one line that it can be, for the object was there before the tensor; None: there are several, or none."""
    later = [(code, store) for code, store in candidates if not _constructs(code, store)]
    return later[0] if len({(code.co_filename, store.line) for code, store in later}) == 1 else None


def _constructs(code: CodeType, store: Store) -> bool:
    source = source_at(code.co_filename)
    return source is not None and getattr(source.scope_at(store.line), "name", "") == "__init__"


def entered_at(frame: FrameType, name: str) -> tuple[CodeType, int] | None:
    """(code, line) of the ``with`` statement around what a frame runs that calls a function of that name."""
    source = source_at(frame.f_code.co_filename)
    line = source.index(Blocks).around(frame.f_lineno, name) if source is not None else 0
    return (frame.f_code, line) if line else None


def _of_variable(store: Store, holder: Holder) -> bool:
    """Whether a variable is stored into in the function that has it, or in one within that shares it."""
    source = source_at(holder.code.co_filename)
    if source is None:
        return False
    scope = source.scope_at(store.line)
    codes = (holder.code, *_sharing(holder.code, holder.name))
    return any(scope is (source.definition_at(code.co_firstlineno) or source.tree) for code in codes)


def _sharing(code: CodeType, name: str) -> Iterator[CodeType]:
    """The functions within that use the variable of the outer one."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and name in inner.co_freevars:
            yield inner
            yield from _sharing(inner, name)


def _nearest(chain: list[tuple[CodeType, int]], candidates: list[_Candidate]) -> _Candidate | None:
    """The store in one of the functions that were running when the tensor was made: the first one from there on."""
    for code, lasti in chain:
        source = source_at(code.co_filename)
        if source is None:
            continue
        place = compiled(code, lasti, library=False)
        scope = source.scope_at(place.lineno)
        mine = [
            pair
            for pair in candidates
            if pair[0].co_filename == code.co_filename and source.scope_at(pair[1].line) is scope
        ]
        if mine:
            later = [pair for pair in mine if pair[1].line >= place.lineno]
            return later[0] if later else mine[-1]
    return None
