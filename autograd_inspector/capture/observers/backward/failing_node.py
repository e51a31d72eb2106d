"""Which node of a graph a backward failed at: the one that raised, and not those that would have raised as well.

The engine does not say. What is seen afterwards: which nodes have run (they have freed what they had saved), what a
node's own saved tensors say, and which Python function raised. What these leave open stays open.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import CodeType, FrameType, TracebackType
from typing import Any

import torch
from msgspec import Struct
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from autograd_inspector.capture.graph_walk.engine_order import execution_order
from autograd_inspector.capture.graph_walk.saved_tensors import raw_saved
from autograd_inspector.capture.graph_walk.verdicts import verify
from autograd_inspector.capture.tensors.attributes import node_of
from autograd_inspector.capture.torch_private.graph import ENGINE
from autograd_inspector.capture.torch_private.tensors import gradient_hooks, post_accumulate_hooks
from autograd_inspector.interrupts import code_called
from autograd_inspector.messages import message_of
from autograd_inspector.model.autograd import AutogradGraph, Node
from autograd_inspector.own_files import is_own
from autograd_inspector.raised import traceback_of

_INVALID = re.compile(r"Function (\w+) returned an invalid gradient")
_APPLY = frozenset({(torch.autograd.function.__file__, "apply"), (torch.autograd.function.__file__, "apply_boxed")})
"""What the engine calls for the node of a custom Function, which is its ``self``."""


class Failure(Struct, frozen=True):
    """A run that raised: its graph before and after, with the nodes and leaves of the latter that are still there.

    ``tensors`` are those of the program that may have hooks, ``inputs`` the tensors that alone were to get a gradient;
    ``kept``: nodes that ran have not freed what they had saved.
    """

    error: BaseException
    before: AutogradGraph
    after: AutogradGraph
    live: Mapping[int, Any]
    leaves: Mapping[int, Tensor]
    tensors: Sequence[Tensor] = ()
    inputs: Sequence[Tensor] = ()
    kept: bool = False


def failing_node(failure: Failure) -> int:
    """The number of the node in ``failure.after``; -1 where what is seen fits several, or none."""
    frame = _called_by_engine(traceback_of(failure.error))
    if frame is not None and (frame.f_code.co_filename, frame.f_code.co_name) in _APPLY:
        node = frame.f_locals.get("self")
        return _number(failure, node) if isinstance(node, BackwardCFunction) else -1
    rest = _left(failure)
    if frame is not None:
        return _hooked(failure, _next(failure, rest), frame.f_code)
    refused = next((number for number in rest if _refuses(failure, number)), -1)
    return refused if refused >= 0 else _named(failure, _next(failure, rest))


def _left(failure: Failure) -> list[int]:
    """The nodes behind the last of those that have run for certain, in the order of the engine."""
    inputs = {number_of(failure, tensor) for tensor in failure.inputs} - {-1}
    order = execution_order(failure.after, inputs)
    before = {(node.seq, node.name): node for node in failure.before.nodes if node.variable < 0}
    nodes = failure.after.nodes
    last = max((at for at, number in enumerate(order) if _ran(before, nodes[number])), default=-1)
    return order[last + 1 :]


def _ran(before: Mapping[tuple[int, str], Node], node: Node) -> bool:
    """Whether the node has freed what it had saved."""
    old = before.get((node.seq, node.name))
    return old is not None and _held(node) < _held(old)


def _held(node: Node) -> int:
    return sum(saved.status != "freed" for saved in node.saved)


def _next(failure: Failure, rest: list[int]) -> list[int]:
    """Those that may have been the next: of nodes that save nothing it cannot be seen that they have run."""
    nodes = failure.after.nodes
    stop = next((at for at, number in enumerate(rest) if _held(nodes[number])), len(rest))
    return rest if failure.kept else rest[: stop + 1]


def _refuses(failure: Failure, number: int) -> bool:
    """Whether the node will not give out what it saved, with the very error that the run raised."""
    node, message = failure.live.get(number), message_of(failure.error)
    for name, hook in () if node is None else raw_saved(node):
        verdict = verify(node, name)[1] if hook is None else ""
        if verdict and verdict.split(" Hint:")[0] in message:
            return True
    return False


def _named(failure: Failure, candidates: list[int]) -> int:
    """The one that the error names, or the only one there is."""
    named = _INVALID.search(message_of(failure.error))
    if named is not None:
        candidates = [number for number in candidates if failure.after.nodes[number].name == named[1]]
    return candidates[0] if len(candidates) == 1 else -1


def _hooked(failure: Failure, candidates: list[int], code: CodeType) -> int:
    """The only one that has that function as a hook: of a saved tensor, or of the gradient that comes to it."""
    carrying = {number_of(failure, tensor) for tensor in failure.tensors if _carries(tensor, code)}
    hooked_nodes = [number for number in candidates if number in carrying or _unpacks(failure, number, code)]
    return hooked_nodes[0] if len(hooked_nodes) == 1 else -1


def _unpacks(failure: Failure, number: int, code: CodeType) -> bool:
    node = failure.live.get(number)
    return node is not None and any(hook is not None and code_called(hook) is code for _, hook in raw_saved(node))


def _carries(tensor: Tensor, code: CodeType) -> bool:
    hooks = [held(tensor) or {} for held in (gradient_hooks, post_accumulate_hooks)]
    return any(code_called(hook) is code for each in hooks for hook in each.values())


def number_of(failure: Failure, tensor: Tensor) -> int:
    """The node that a tensor's gradient comes to."""
    node = node_of(tensor)
    if node is not None:
        return _number(failure, node)
    variable = next((number for number, leaf in failure.leaves.items() if leaf is tensor), None)
    return next((node.index for node in failure.after.nodes if node.variable == variable), -1)


def _number(failure: Failure, node: Any) -> int:
    sought = (node._sequence_nr(), node.name())
    return next((each.index for each in failure.after.nodes if (each.seq, each.name) == sought), -1)


def _called_by_engine(traceback: TracebackType | None) -> FrameType | None:
    """The frame of the Python function that the engine had called when it raised; None: it raised itself."""
    while traceback is not None and traceback.tb_frame.f_code.co_name != ENGINE.name:
        traceback = traceback.tb_next
    below = None if traceback is None else traceback.tb_next
    while below is not None and is_own(below.tb_frame):
        below = below.tb_next
    return None if below is None else below.tb_frame
