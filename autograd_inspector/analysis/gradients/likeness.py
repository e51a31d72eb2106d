"""Which tensors have one value, for the same calls computed them of the same values."""

from __future__ import annotations

import ast

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.source.fragments import expression, is_path
from autograd_inspector.source.writing import written

_DEEPEST = 48
"""So many ops back two computations are compared."""
_OPERANDS = 2
_ANYTHING = OpKind.DRAWS | OpKind.LEAVES_UNSET
COMPUTED_UNLIKE = Trait.STEP | Trait.FUNCTION | Trait.DRAWS | Trait.UNTOLD | Trait.BACKWARD
"""What may give another result each time."""


class Likeness:
    """Numbers values: two that the same calls computed of the same values have one number.

    What a call is given beside tensors is not recorded: so both have to be one and the same expression of the program,
    or expressions that read alike.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._numbers: dict[tuple[object, ...], int] = {}
        self._known: dict[tuple[int, int], int] = {}

    def number(self, tensor: int, version: int, deepest: int = _DEEPEST) -> int:
        """The number of a tensor's value, as it was at that version."""
        key = tensor, version
        if key not in self._known:
            self._known[key] = self._of(tensor, version, deepest)
        return self._known[key]

    def through(self, start: int, end: int) -> None:
        """Number what these ops computed, in their order: however deep a model is, each call is compared by its inputs."""
        for op in self._analysis.capture.ops[start:end]:
            for tensor in op.outputs:
                self.number(tensor, 0)

    def _of(self, tensor: int, version: int, deepest: int) -> int:
        capture = self._analysis.capture
        made = self._analysis.flow.birth(tensor)
        if (
            made is None
            or version
            or not deepest
            or made.has(COMPUTED_UNLIKE)
            or made.writes
            or (not made.inputs and not self._constant(made, tensor))
            or is_a(made.name, _ANYTHING)
            or tensor not in made.outputs
        ):
            return self._numbered("value", tensor, version)
        words = self._words(made)
        record = capture.tensors[tensor]
        layout = record.shape, record.offset, record.dtype
        call = capture.call_of(made)
        module = (call.root, call.path, call.type, call.training) if call is not None else ()
        read = [
            (self.number(each, at, deepest - 1), self._written(each, made.index))
            for each, at in zip(made.inputs, made.versions, strict=False)
        ]
        given = tuple(sorted(capture.given.get(made.index, {}).items()))
        return self._numbered("call", made.name, made.outputs.index(tensor), words, given, layout, module, *read)

    def _constant(self, made: Op, tensor: int) -> bool:
        """Whether a call without tensors returns the same each time that the program gets there: positions, nothing."""
        return is_a(made.name, OpKind.RETURNS_CONSTANT) or self._analysis.capture.tensors[tensor].nbytes == 0

    def _words(self, made: Op) -> object:
        """How the program writes the call; of one within a module of torch's, what the module is given does not matter."""
        capture = self._analysis.capture
        frames = capture.sites[made.site].frames[:1] if made.site >= 0 else ()
        outer = capture.model_call_of(made)
        called = capture.sites[outer.site].frames[:1] if outer is not None and outer.site >= 0 else ()
        if not frames or (called and _span(called[0]) == _span(frames[0])):
            return ()
        if _both_tensors(made, frames[0].expression):
            return ()
        return _divisor(made, frames[0].expression) or frames[0].expression or _span(frames[0])

    def _written(self, tensor: int, before: int) -> int:
        """The last write to the memory that was there before, which may leave the version counter as it was."""
        storage = self._analysis.capture.tensors[tensor].storage
        last = next(self._analysis.writes_back(storage, 0, before), None) if storage >= 0 else None
        return last[0].index if last is not None else -1

    def _numbered(self, *value: object) -> int:
        return self._numbers.setdefault(value, len(self._numbers))


def _span(place: Location) -> tuple[str, int, int]:
    return place.filename, place.lineno, place.column


def _both_tensors(made: Op, text: str) -> bool:
    """Whether it is an operator between two tensors, which is given nothing else: ``chosen - rejected``."""
    return len(made.inputs) == len(made.versions) == _OPERANDS and isinstance(expression(text), ast.BinOp)


def _divisor(made: Op, text: str) -> tuple[str, str] | None:
    """What a tensor is divided by that is none itself: ``logits / temperature``."""
    match expression(text) if is_a(made.name, OpKind.DIVIDES) and len(made.inputs) == 1 else None:
        case ast.BinOp(op=ast.Div(), right=right) if not made.writes and _is_simple(right):
            return made.name, written(right)
    return None


def _is_simple(node: ast.expr) -> bool:
    """Whether it is a number, a variable or an attribute."""
    return isinstance(node, ast.Constant) or is_path(node)
