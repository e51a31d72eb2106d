"""Results of earlier training steps that the program still holds: what a list of losses keeps."""

from __future__ import annotations

import ast
from types import CodeType
from typing import TYPE_CHECKING

from autograd_inspector.capture.history import has_history
from autograd_inspector.capture.registry import Registry
from autograd_inspector.capture.sources import compiled, scope_of, tree_of
from autograd_inspector.model.event import Kept as KeptRecord

if TYPE_CHECKING:
    from autograd_inspector.capture.tape import Tape

_KEEPING = frozenset(
    {"append", "appendleft", "extend", "insert", "add", "put", "put_nowait", "update", "setdefault", "push", "store"}
)


class Kept:
    """Looks, whenever a backward begins, which results of earlier backwards' graphs are still alive.

    A variable that the loop assigns anew has let go of the older ones by then; a list has not.
    """

    def __init__(self) -> None:
        self.most: tuple[tuple[int, int], ...] = ()
        """(tensor, in which step it was made), when most of them were met at once."""
        self._held: dict[int, int] = {}
        self._steps = 0
        self._start = 0

    def step(self, registry: Registry) -> None:
        """A backward begins."""
        entries = registry.entries
        fresh = {number: self._steps for number in range(self._start, len(entries)) if entries[number].requires_grad}
        self._start = len(entries)
        held = {}
        for number, tensor in registry.alive(self._held | fresh):
            if has_history(tensor):
                held[number] = self._held.get(number, self._steps)
        older = tuple((number, step) for number, step in held.items() if step < self._steps)
        if len(older) > max(len(self.most), 1):
            self.most = older
        self._held = held
        self._steps += 1


def kept_records(tape: Tape) -> tuple[KeptRecord, ...]:
    """What was kept, with the line that puts it away where the source shows one."""
    found: dict[int, int] = {}
    records = []
    for tensor, step in tape.kept.most:
        birth = tape.registry.facts[tensor][8]
        site = tape.ops[birth][5] if birth >= 0 else -1
        if site not in found:
            found[site] = _keeper(tape, site) if site >= 0 else -1
        records.append(KeptRecord(tensor, step, found[site]))
    return tuple(records)


def _keeper(tape: Tape, site: int) -> int:
    """The site where a variable that the statement (or one of its callers) assigns is put into something."""
    for code, lasti, library in tape.stacks.chains[site]:
        line = 0 if library else _putting(code, lasti)
        if line:
            return tape.stacks.of_code(code, line)
    return -1


def _putting(code: CodeType, lasti: int) -> int:
    here = compiled(code, lasti, library=False)
    tree = tree_of(code.co_filename)
    names = {part.strip() for part in here.target.strip("()").split(",")}
    if tree is None or not here.target:
        return 0
    for node in ast.walk(scope_of(tree, here.lineno)):
        if any(isinstance(value, ast.Name) and value.id in names for value in _stored(node)):
            return int(getattr(node, "lineno", 0))
    return 0


def _stored(node: ast.AST) -> list[ast.AST]:
    """The values that a statement or call puts into a container, an item or an attribute (whole, not ``x.item()``)."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING:
        return _parts([*node.args, *(keyword.value for keyword in node.keywords)])
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Subscript, ast.Attribute)):
        return _parts([node.value])
    if isinstance(node, ast.AugAssign) and isinstance(node.value, (ast.List, ast.Tuple)):
        return _parts([node.value])
    return []


def _parts(values: list[ast.expr]) -> list[ast.AST]:
    found: list[ast.AST] = []
    for value in values:
        if isinstance(value, (ast.Tuple, ast.List)):
            found += _parts(value.elts)
        elif isinstance(value, ast.Dict):
            found += _parts(value.values)
        else:
            found.append(value)
    return found
