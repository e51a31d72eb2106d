"""Hears of each graph that Dynamo gives to a backend, and of each call of what the backend made of it.

It stands in torch from the moment that Dynamo is imported, in a capture or before one: a graph is given to a backend
once, and called for the rest of the program. Nothing else of torch's is changed, nothing is compiled otherwise, and
outside of a capture a call costs one more Python frame.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import torch

from autograd_inspector.capture.compiled.leaving import EXPORTS
from autograd_inspector.capture.compiled.plan import Plan, plan_of
from autograd_inspector.capture.compiled.refused import Refused, refused
from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.torch_private.broken_at import broken_at
from autograd_inspector.capture.torch_private.compiled import WRITTEN_CODE, refuses_an_op, why_compiled_again
from autograd_inspector.capture.torch_private.side_effects import registered_by
from autograd_inspector.interrupts import is_interrupt

Run = Callable[..., Any]


class Watcher(Protocol):
    """Of a capture: makes the calls of compiled graphs."""

    def __call__(self, graph: Graph, args: tuple[Any, ...]) -> Any:
        """The result of the graph's own call."""

    def refuse(self, graph: Refused) -> None:
        """A graph is not compiled, and the call will raise."""


class Graph:
    """A graph that was compiled. ``plain``: what the backend made of it is the graph itself, run by Python.

    ``plan`` has no steps where the graph could not be read.
    """

    def __init__(self, plan: Plan, run: Run, *, plain: bool) -> None:
        self.plan = plan
        self.run = run
        self.plain = plain


_GRAPH = "_autograd_inspector_graph"
_COMPILERS = (WRITTEN_CODE, str(Path(torch.__file__).parent / "_"))
"""Where code begins that compiles, or was compiled before the package was imported."""
_WATCHER: list[Watcher] = []


def watch(watcher: Watcher) -> None:
    """From now on it makes the calls."""
    _WATCHER[:] = [watcher]


def unwatch() -> None:
    """Calls are made as if there was no capture."""
    _WATCHER.clear()


def heard(original: Run) -> Run:
    """What stands in for ``OutputGraph.call_user_compiler``."""

    @functools.wraps(original)
    def call_user_compiler(output: Any, gm: Any, example_inputs: Any) -> Any:
        if output.export or output.package is not None:  # It is not run by this process as it is.
            return original(output, gm, example_inputs)
        plan = _planned(output, gm)
        try:
            compiled = original(output, gm, example_inputs)
        except Exception as error:
            _refused(output, error, plan)
            raise
        try:
            return _observable(output, plan, gm, compiled)
        except Exception as failure:
            if is_interrupt(failure):
                raise
            return compiled

    return call_user_compiler


def left(original: Callable[[Any], None]) -> Callable[[Any], None]:
    """What stands in for ``OutputGraph.cleanup``, which runs as Dynamo leaves a graph, whatever the reason."""

    @functools.wraps(original)
    def cleanup(output: Any) -> None:
        error = sys.exc_info()[1]
        if error is not None and refuses_an_op(error):
            _refused(output, error, None)
        original(output)

    return cleanup


def _refused(output: Any, error: BaseException, plan: Plan | None) -> None:
    if is_interrupt(error) or output.export:
        return
    try:
        for watcher in _WATCHER:
            watcher.refuse(refused(output, error, plan))
    except Exception as failure:
        if is_interrupt(failure):
            raise


def _planned(output: Any, gm: Any) -> Plan | None:
    """The plan of a graph before its backend alters it; None where it cannot be read."""
    try:
        return plan_of(
            gm,
            output.root_tx.f_code,
            output.tracing_context.traced_code or (),
            reason=output.compile_subgraph_reason,
            again=why_compiled_again(),
            broken=broken_at(output.root_tx, EXPORTS),
            registered=registered_by(output),
        )
    except Exception as failure:
        if is_interrupt(failure):
            raise
        return None


def _observable(output: Any, plan: Plan | None, gm: Any, compiled: Run) -> Run:
    plain = plan is not None and (compiled is gm or getattr(compiled, "__self__", None) is gm)
    if plain:  # The backend may have rewritten it; and only now its code is written.
        compiled = _written_out(gm)
        plan = _planned(output, gm) or plan
    graph = Graph(plan or Plan((), output.root_tx.f_code, {}), compiled, plain=plain)

    def run_graph(*args: Any) -> Any:
        for watcher in _WATCHER:
            return watcher(graph, args)
        return compiled(*args)

    run_graph.__dict__.update(getattr(compiled, "__dict__", {}))
    run_graph.__dict__[_GRAPH] = graph
    return run_graph


def is_compilers(function: Any) -> bool:
    """Whether a function is the call of a graph, or another one of what compiles."""
    if _GRAPH in getattr(function, "__dict__", ()):
        return True
    code = code_of(function)
    return code is None or code.co_filename.startswith(_COMPILERS)


def _written_out(gm: Any) -> Run:
    """The graph as Python: a lazy one writes its code now, as Dynamo would have it do right after."""
    if hasattr(gm, "real_recompile"):
        gm.real_recompile()
    forward: Run = gm.forward
    return forward
