"""Where a function that ``torch.func.vmap`` returned was made, of an exception that passed through it."""

from __future__ import annotations

import ast
from types import CodeType, TracebackType

from autograd_inspector.capture.lines.sources import compiled, source_at, span_at
from autograd_inspector.capture.lines.stacks import SKIP, USER, Stacks, classify
from autograd_inspector.source.transforms import Transforms

_VMAP = "vmap"


def made_by_vmap(stacks: Stacks, traceback: TracebackType | None) -> int:
    """The site of the innermost call of a function of vmap's, or of the line that made it; -1 where there is none."""
    caller: tuple[CodeType, int] | None = None
    found: tuple[CodeType, int] | None = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        kind = classify(code.co_filename)
        if kind == USER:
            caller = code, traceback.tb_lasti
        elif kind == SKIP and code.co_qualname.startswith(f"{_VMAP}.") and caller is not None:
            found = caller
        traceback = traceback.tb_next
    return -1 if found is None else _made_at(stacks, *found)


def _made_at(stacks: Stacks, code: CodeType, lasti: int) -> int:
    place = compiled(code, lasti, library=False)
    source = source_at(code.co_filename)
    node = None if source is None else source.expression_at(span_at(place))
    line = 0
    if source is not None and isinstance(node, ast.Call):
        line = source.index(Transforms).line_of(_VMAP, node.func, place.lineno)
    return stacks.of_code(code, line or place.lineno)
