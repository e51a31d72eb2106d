"""A graph that Dynamo captured, as plain steps: what is called with what, from which lines, in which modules.

It holds no tensor and none of torch's nodes, so it keeps nothing of the program alive beside its code objects.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from traceback import format_list
from types import CodeType
from typing import Any

from torch import Tensor
from torch.fx import GraphModule

from autograd_inspector.capture.compiled.code_places import CodePlaces, Frame
from autograd_inspector.capture.compiled.leaving import roles_of
from autograd_inspector.capture.compiled.written_code import StandIn, written_lines
from autograd_inspector.capture.torch_private.broken_at import Broken
from autograd_inspector.capture.torch_private.side_effects import Registered

PLACEHOLDER, CALL, METHOD, MODULE, ATTRIBUTE, OUTPUT = range(6)
_KINDS = {
    "placeholder": PLACEHOLDER,
    "call_function": CALL,
    "call_method": METHOD,
    "call_module": MODULE,
    "get_attr": ATTRIBUTE,
    "output": OUTPUT,
}


@dataclass(frozen=True)
class Ref:
    """The result of an earlier step, among the arguments of a later one."""

    step: int


@dataclass(frozen=True)
class Made:
    """A tensor as tracing knew it: enough to make another like it where a step cannot be run."""

    shape: tuple[int, ...]
    dtype: Any
    device: Any
    requires_grad: bool


@dataclass(frozen=True)
class Step:
    """One node of the graph. ``frames``: the user's lines, innermost first.

    ``modules``: (expression for the module, which of its calls in the captured code), outermost first.
    ``dropped``: the earlier steps whose results nothing needs after this one. ``line``: where the code that torch wrote
    of the graph makes the call; 0 where that is not known. ``bodies``: the attributes among the arguments that are
    graphs themselves, in their order. ``role``: what it has to do with values outside of torch, "" if nothing.
    ``torchs``: (file, line) in torch's own code beneath the user's lines, innermost first.
    """

    kind: int
    target: Any
    args: Any = ()
    kwargs: Any = field(default_factory=dict)
    frames: tuple[Frame, ...] = ()
    modules: tuple[tuple[str, int], ...] = ()
    source: str = ""
    made: Any = None
    dropped: tuple[int, ...] = ()
    line: int = 0
    bodies: tuple[str, ...] = ()
    role: str = ""
    torchs: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Taken:
    """The tensor that the code was about to take out of torch where the graph ended.

    ``method``: by which; "" for a function. ``source``: the expression for it, "" where it was computed. ``step``: the
    one that computed it, -1 where none did.
    """

    method: str
    source: str
    step: int


@dataclass(frozen=True)
class Hooked:
    """A hook that the code registers when the graph has run. ``source``: the expression for its tensor."""

    source: str
    code: CodeType
    method: str


@dataclass(frozen=True)
class Plan:
    """All steps of a graph, the code that it was captured from, and what ended it before the code did."""

    steps: tuple[Step, ...]
    code: CodeType
    attributes: dict[str, Callable[[], Any]]
    traced: tuple[CodeType, ...] = ()
    breaks: tuple[str, tuple[Frame, ...]] = ("", ())
    """Why Dynamo could not follow the code any further, and where; ("", ()) where it came to the end."""
    taken: Taken | None = None
    hooks: tuple[Hooked, ...] = ()
    again: str = ""
    """Why it was captured although the same code had been before."""
    nested: dict[str, Plan] = field(default_factory=dict)
    """Its attributes that are graphs themselves: what ``checkpoint()``, ``cond()`` or a custom Function was given."""
    standing: StandIn | None = None
    """Calls functions as the code that torch wrote of the graph would."""

    @property
    def sources(self) -> Iterator[str]:
        """Where the inputs come from, as expressions on the captured frame's variables."""
        return (step.source for step in self.steps if step.kind == PLACEHOLDER)

    @cached_property
    def readers(self) -> dict[int, Step]:
        """Number of a step -> the first step that is given its result."""
        readers: dict[int, Step] = {}
        for step in self.steps:
            for number in _refs(step):
                readers.setdefault(number, step)
        return readers


def plan_of(
    gm: Any,
    code: CodeType,
    traced: Iterable[CodeType],
    *,
    reason: Any = None,
    again: str = "",
    broken: Broken | None = None,
    registered: Iterable[Registered] = (),
) -> Plan:
    """The plan of a graph module that was captured from ``code``, with the other code objects that were traced."""
    traced = tuple(traced)
    places = CodePlaces((code, *traced))
    plan = _plan(gm, code, traced, places)
    hooks = tuple([Hooked(_expression(each.source), each.code, each.method) for each in registered])
    return replace(plan, breaks=_break(reason, places), again=again, taken=_taken(gm, broken), hooks=hooks)


def _plan(gm: Any, code: CodeType, traced: tuple[CodeType, ...], places: CodePlaces) -> Plan:
    numbers = {node: number for number, node in enumerate(gm.graph.nodes)}
    last_uses: dict[int, int] = {}
    for node, number in numbers.items():
        for each in node.all_input_nodes:
            last_uses[numbers[each]] = number
    drops: dict[int, list[int]] = {}
    for number, user in last_uses.items():
        drops.setdefault(user, []).append(number)
    steps, attributes, nested, lines, roles = [], {}, {}, written_lines(gm), roles_of(numbers)
    for node, number in numbers.items():
        kind = _KINDS[node.op]
        if kind in {ATTRIBUTE, MODULE}:
            value = _attribute(gm, node.target)
            attributes[node.target] = _holder(value)
            if isinstance(value, GraphModule):
                nested[node.target] = _plan(value, code, traced, places)
        steps.append(
            Step(
                kind,
                node.target,
                _plain(node.args, numbers),
                _plain(node.kwargs, numbers),
                places.frames(node.meta.get("stack_trace") or ""),
                tuple([(path, _nth(key)) for key, (path, _) in (node.meta.get("nn_module_stack") or {}).items()]),
                _source(node) if kind == PLACEHOLDER else "",
                _made(node.meta.get("example_value")),
                tuple(drops.get(number, ())),
                lines.get(number, 0),
                tuple([each.target for each in node.all_input_nodes if each.target in nested]),
                roles.get(node, ""),
                CodePlaces.torchs(node.meta.get("stack_trace") or ""),
            )
        )
    return Plan(tuple(steps), code, attributes, traced, nested=nested, standing=StandIn.of(gm))


def resolved(value: Any, results: dict[int, Any]) -> Any:
    """Arguments, with the results of earlier steps in them."""
    kind = type(value)
    if kind is Ref:
        return results[value.step]
    if kind is tuple:
        return tuple([resolved(each, results) for each in value])
    if kind is list:
        return [resolved(each, results) for each in value]
    if kind is dict:
        return {key: resolved(each, results) for key, each in value.items()}
    if kind is slice:
        return slice(*[resolved(each, results) for each in (value.start, value.stop, value.step)])
    return value


def _refs(step: Step) -> Iterator[int]:
    """The steps whose results are among a step's arguments."""
    todo: list[Any] = [step.args, step.kwargs]
    while todo:
        each = todo.pop()
        if type(each) is Ref:
            yield each.step
        elif isinstance(each, (tuple, list)):
            todo += each
        elif isinstance(each, dict):
            todo += each.values()


def holds(step: Step, number: float) -> bool:
    """Whether that very number is written among a step's arguments."""
    todo = [step.args, step.kwargs]
    while todo:
        each = todo.pop()
        if isinstance(each, (tuple, list)):
            todo += each
        elif isinstance(each, dict):
            todo += each.values()
        elif type(each) is float and each == number:
            return True
    return False


def _plain(value: Any, numbers: dict[Any, int]) -> Any:
    if value in numbers if _is_node(value) else False:
        return Ref(numbers[value])
    if isinstance(value, tuple):
        inner = [_plain(each, numbers) for each in value]
        return type(value)(*inner) if hasattr(value, "_fields") else tuple(inner)
    if isinstance(value, list):
        return [_plain(each, numbers) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each, numbers) for key, each in value.items()}
    if isinstance(value, slice):
        return slice(*[_plain(each, numbers) for each in (value.start, value.stop, value.step)])
    return value


def _is_node(value: Any) -> bool:
    return type(value).__name__ == "Node" and hasattr(value, "all_input_nodes")


def _nth(key: str) -> int:
    """Dynamo tells the later calls of a module from its first one by a number behind its key."""
    number = key.rpartition("@")[2]
    return int(number) if number.isdigit() and "@" in key else 0


def _break(reason: Any, places: CodePlaces) -> tuple[str, tuple[Frame, ...]]:
    if reason is None or not reason.graph_break:
        return "", ()
    return str(reason.reason), places.frames("".join(format_list(reason.user_stack)))


def _taken(gm: Any, broken: Broken | None) -> Taken | None:
    if broken is None:
        return None
    step = next((number for number, node in enumerate(gm.graph.nodes) if node is broken.node), -1)
    return Taken(broken.method, _expression(broken.source), step)


def _attribute(gm: Any, target: str) -> Any:
    value = gm
    for name in target.split("."):
        value = getattr(value, name)
    return value


def _holder(value: Any) -> Callable[[], Any]:
    """A tensor of the program's is its own to keep; a graph within the graph is nobody else's."""
    return weakref.ref(value) if isinstance(value, Tensor) else lambda: value


def _source(node: Any) -> str:
    return _expression(getattr(node.meta.get("grapharg"), "source", None))


def _expression(source: Any) -> str:
    """Torch's record of where a value comes from, as an expression on the captured frame's variables."""
    try:
        return "" if source is None else str(source.name() if callable(source.name) else source.name)
    except NotImplementedError:
        return ""


def _made(value: Any) -> Any:
    """What tracing knew of a result: of a tensor how it is made, of several a list."""
    if isinstance(value, Tensor):
        shape = tuple([size if type(size) is int else -1 for size in value.shape])
        return Made(shape, value.dtype, value.device, value.requires_grad)
    if isinstance(value, (tuple, list)):
        return [_made(each) for each in value]
    return None
