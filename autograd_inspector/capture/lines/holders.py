"""By what the program holds tensors at this moment: ``model.state[0]``, an attribute of a StatefulLSTM."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from torch import Tensor, nn

from autograd_inspector.capture.lines.attributes import items_of, members_of, order_of
from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.lines.local_names import attributes_of, variables
from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.capture.torch_private.modules import own_buffers, own_children, own_parameters

_MOST = 50_000
"""So many objects are looked at: what lies near the program's variables comes first."""
_LONGEST = 1000
"""Of a container that is longer only the first and the last entries are looked at."""
_PLAIN = Kinds(int, float, bool, str, bytes, complex, type(None), range, slice)
_OPAQUE = (type, ModuleType, FunctionType, MethodType, FrameType)
_SEQUENCES = (list, tuple, deque, set, frozenset)
_OURS = f"{__name__.partition('.')[0]}."
"""The capture is in a variable of the program, and grows with it: what it has are no tensors."""


class Holder(NamedTuple):
    """``path`` is how the program would write it; ``kind`` the class whose attribute ``name`` leads there.

    None: ``name`` is a variable, of the function with that code.
    """

    path: str
    kind: type | None
    name: str
    code: CodeType

    @property
    def keeps(self) -> bool:
        """Whether it is more than a variable of a function that runs."""
        return self.kind is not None or self.path != self.name

    def at(self, path: str) -> Holder:
        """The same, on the way to an entry of it."""
        return Holder(path, self.kind, self.name, self.code)


def holders_of(wanted: Collection[int], frames: Collection[FrameType]) -> dict[int, Holder]:
    """Python's id of a tensor -> what holds it, of what the user's frames can reach; the shortest way first.

    A function that runs names for a while what an object or a container keeps: where both hold it, the latter is told.
    """
    found: dict[int, Holder] = {}
    named: dict[int, Holder] = {}
    met: set[int] = set()
    queue: deque[tuple[Any, Holder]] = deque()
    for frame in reversed(list(frames)):
        for name, value in variables(frame):
            if type(name) is str and not name.startswith("__"):
                queue.append((value, Holder(name, None, name, frame.f_code)))
    while queue and len(met) < _MOST and len(found) < len(wanted):
        value, holder = queue.popleft()
        kind = type(value)
        if kind in _PLAIN or id(value) in met:
            continue
        if holder.keeps or not issubclass(kind, Tensor):
            met.add(id(value))
        if issubclass(kind, Tensor):
            if id(value) in wanted:
                (found if holder.keeps else named).setdefault(id(value), holder)
        elif not issubclass(kind, _OPAQUE) and not _is_ours(kind):
            queue.extend(_within(value, kind, holder))
    return named | found


def methods_of(kind: type) -> Iterator[CodeType]:
    """The code of the methods that the user wrote of a class and its bases."""
    for base in order_of(kind):
        members: Mapping[str, Any] = members_of(base)
        for member in list(members.values()):
            code = code_of(member)
            if code is not None and classify(code.co_filename) == USER:
                yield code


def _is_ours(kind: type) -> bool:
    module = members_of(kind).get("__module__")
    return type(module) is str and module.startswith(_OURS)


def _within(value: Any, kind: type, holder: Holder) -> Iterator[tuple[Any, Holder]]:
    """What an object has, and how that is written."""
    path = holder.path
    if issubclass(kind, dict):
        for key, entry in _ends(items_of(value)):
            yield entry, holder.at(f"{path}[{key!r}]" if type(key) in _PLAIN else f"{path}[...]")
    elif issubclass(kind, _SEQUENCES):
        entries: list[Any] = []
        with suppress(RuntimeError):  # Another thread changes it meanwhile.
            entries = list(next(base for base in _SEQUENCES if issubclass(kind, base)).__iter__(value))
        for place, entry in _ends(list(enumerate(entries))):
            yield entry, holder.at(f"{path}[{place}]")
    else:
        own: tuple[Any, ...] = ()
        if issubclass(kind, nn.Module):
            children = own_children(value)
            own = children, own_parameters(value), own_buffers(value)
            for child, module in items_of(children):
                yield module, Holder(f"{path}.{child}", kind, str(child), holder.code)
        for name, held in items_of(attributes_of(value)):
            if type(name) is str and not any(held is each for each in own):
                yield held, Holder(f"{path}.{name}", kind, name, holder.code)


def _ends(entries: list[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    if len(entries) <= _LONGEST:
        return iter(entries)
    return islice((*entries[: _LONGEST // 2], *entries[-_LONGEST // 2 :]), _LONGEST)
