"""Where torch.compile's code begins and ends."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from autograd_inspector.capture.torch_private.resolving import (
    MISSING,
    TABLE,
    Place,
    UnsupportedTorch,
    attribute,
    looked_up,
    read,
    spelled,
)

_HOME = "torch._dynamo.eval_frame"
_FORCED = "force_eager"
_UNSEEN = "programs that call torch.compile are not observed"

COMPILED_CALL = spelled(
    f"{_HOME}:_TorchDynamoContext.__call__.compile_wrapper",
    "torch's function around every compiled call: it switches dynamo on before and restores it after",
    without=_UNSEEN,
    late=True,
)
DISABLED_CALL = spelled(
    f"{_HOME}:DisableContext.__call__._fn",
    "torch's function around what dynamo is kept out of",
    without="functions under torch.compiler.disable that compiled code calls are not observed",
    late=True,
)
SWITCH = Place(f"{_HOME}:_maybe_set_eval_frame", "where dynamo is switched on and off", without=_UNSEEN, late=True)
COMPILED_MODULE = Place(
    f"{_HOME}:OptimizedModule.__call__", "the call of a compiled module", without=_UNSEEN, late=True
)
_ALL_EAGER = "compiled code runs compiled even if it was requested to run uncompiled"
STANCE = Place(f"{_HOME}:_stance", "whether dynamo compiles", without=_ALL_EAGER, late=True)
_stance = looked_up(f"{_HOME}:DynamoStance", "compiled code runs as it is written")
BACKEND_CALL = Place(
    "torch._dynamo.output_graph:OutputGraph.call_user_compiler",
    "the ops inside a compiled call are read from Dynamo's graph",
    without="each call of compiled code is one op",
    late=True,
)
_REFUSED = "the line of code that torch refuses to compile is not known"
GRAPH_LEFT = Place(
    "torch._dynamo.output_graph:OutputGraph.cleanup",
    "what torch refuses while Dynamo traces is read from the graph so far",
    without=_REFUSED,
    late=True,
)
_refusal = looked_up("torch._dynamo.exc:TorchRuntimeError", "torch refused an op while Dynamo traced", without=_REFUSED)


_dynamos = looked_up("torch._dynamo.exc:TorchDynamoException", "torch.compile refused to compile", without=_REFUSED)


def is_dynamos(error: BaseException | None) -> bool:
    """Whether Dynamo raised it, instead of running anything."""
    kind = _dynamos()
    return kind is not MISSING and isinstance(error, kind)


def refuses_an_op(error: BaseException) -> bool:
    """Whether torch refused an op while Dynamo traced."""
    refusal = _refusal()
    return refusal is not MISSING and isinstance(error, refusal)


_WRITTEN = 'warnings out of compiled code name another line under the backend "eager"'
lines_written = attribute(
    "torch.fx.graph_module:GraphModule.recompile._lineno_map",
    "which line of the code that torch writes of a graph runs which node",
    without=_WRITTEN,
    late=True,
)
first_line_written = attribute(
    "torch.fx.graph_module:GraphModule.recompile._prologue_start",
    "where that code begins",
    without=_WRITTEN,
    late=True,
)
WRITTEN_CODE = "<eval_with_key>"
"""The beginning of the name that torch gives to the code it writes of a graph."""
RUN_NODE = spelled(
    "torch.fx.interpreter:Interpreter.run_node",
    "the node of a graph that runs, where torch runs one node by node",
    without="lines inside checkpoint() and custom Functions that are compiled are not known",
    late=True,
)
_in_grad_mode = looked_up(
    "torch._higher_order_ops.wrap:WrapWithSetGradEnabled.__call__",
    "an exported model runs the parts of it that are in another grad mode",
    without="the line of a switched grad mode in an exported model is not known",
)
PART = "wrapped_func"
"""The argument of that which is the part."""


def runs_in_grad_mode(frame: FrameType) -> bool:
    """Whether a frame runs a part of a graph in a grad mode of its own."""
    function = _in_grad_mode()
    # A class that has no such method of its own answers with one of `type`, which has no code.
    return function is not MISSING and frame.f_code is getattr(function, "__code__", MISSING)


_ARRAYS = "NumPy computations inside compiled code"
_numpy_calls = [
    looked_up(f"torch._dynamo.utils:numpy_{kind}_wrapper", _ARRAYS) for kind in ("to_tensor", "method", "operator")
]


def numpy_calls() -> tuple[type, ...]:
    """The classes of what stands in a graph for calls of NumPy."""
    return tuple([each for each in (found() for found in _numpy_calls) if each is not MISSING])


tensor_of_tensors = looked_up(
    "torch._refs:tensor", "``torch.tensor()`` of a list of tensors within compiled code: so a graph has it"
)
_strategy = looked_up("torch._C._dynamo.eval_frame:set_code_exec_strategy", "dynamo does not trace the observers")
_strategies = looked_up("torch._C._dynamo.eval_frame:_FrameExecStrategy", "dynamo does not trace the observers")
_actions = looked_up("torch._C._dynamo.eval_frame:_FrameAction", "dynamo does not trace the observers")
_LEFT_ALONE = spelled(
    f"{_HOME}:DisableContext.__call__._fn._torchdynamo_disable",
    "by which a function says that dynamo is not to trace it",
    without="inspect() inside compiled code is traced with it",
    late=True,
)
_compiling = looked_up("torch._guards:CompileContext.try_get", "what runs to compile is not the program's own")


def keep_out_of(codes: Iterable[CodeType], *, inside: bool = True) -> bool:
    """Dynamo leaves these functions alone, and what is called ``inside`` of them. Returns whether it could be told."""
    tell, strategies, actions = _strategy(), _strategies(), _actions()
    if MISSING in {tell, strategies, actions}:
        return False
    alone = strategies(actions.SKIP, actions.SKIP if inside else actions.DEFAULT)
    for code in codes:
        tell(code, alone)
    return True


def keep_out_of_whole(*functions: Any) -> None:
    """Dynamo neither compiles these functions nor traces them as a part of what calls them: the graph breaks there."""
    keep_out_of([function.__code__ for function in functions])
    for function in functions:
        setattr(function, _LEFT_ALONE, True)


def is_dynamos_frame(frame: FrameType) -> bool:
    """Whether torch's functions around compiled code run in it."""
    return frame.f_globals.get("__name__") == _HOME


_metrics = looked_up("torch._dynamo.utils:get_metrics_context", "why code was compiled again")
_kept = attribute("torch._dynamo.utils:MetricsContext.__init__._metrics", "why code was compiled again", late=True)


def why_compiled_again() -> str:
    """Which guard failed, while code is compiled that had been compiled before; "" for the first time."""
    metrics = _metrics()
    kept = None if metrics is MISSING else _kept(metrics())
    reason = kept.get("recompile_reason") if isinstance(kept, dict) else None
    return reason if isinstance(reason, str) else ""


def is_compiling() -> bool:
    """Whether something is being compiled in this thread: what runs then is not the program's own."""
    context = _compiling()
    return context is not MISSING and context() is not None


_compiled_autograd = looked_up(
    "torch._dynamo.compiled_autograd:compiled_autograd_enabled", "backward is not traced with the recorder in it"
)


def compiles_backward() -> bool:
    """Whether what the engine runs is compiled: Dynamo would trace the recorder as well."""
    return _compiled_autograd() is True


fake_mode = looked_up("torch._subclasses:FakeTensorMode", "compiled graphs are run without data")
_stand_in = looked_up("torch._subclasses:FakeTensor", "autograd is asked what compiled graphs saved and modified")
_OURS = "_autograd_inspector"


def mode_of_stand_ins() -> Any:
    """A mode in which tensors have no data. They are told from the program's own of that kind."""
    mode = fake_mode()()
    setattr(mode, _OURS, True)
    return mode


def is_stand_in(tensor: Any) -> bool:
    """Whether a tensor without data was made in such a mode: no code of the program's knows of it."""
    kind = _stand_in() if _HOME in sys.modules else MISSING
    return type(tensor) is kind and _OURS in vars(tensor.fake_mode)


set_version = looked_up(
    "torch._C._autograd:_unsafe_set_version_counter", "what is written in compiled code has the right versions"
)
original_of = attribute(
    f"{_HOME}:OptimizedModule.__init__._orig_mod",
    "the name of a compiled module",
    without="compiled modules have no names",
    late=True,
)
_compilers = looked_up(f"{_HOME}:cached_backends", "whether anything was compiled so far")


def eager_stance() -> Any:
    """The stance in which dynamo compiles nothing; None where there is none."""
    stance = _stance()
    return None if stance is MISSING or STANCE.owner() is None else stance(_FORCED)


def runs_eagerly() -> bool:
    """Whether compiled calls run as they are written now."""
    dynamo = STANCE.owner()
    return dynamo is not None and read(vars(dynamo)[STANCE.name], "stance") == _FORCED


def dynamo_shows_itself(*, used: bool) -> bool:
    """Whether dynamo is there, and shows where compiled code begins and ends.

    Where it does not, it would trace the observers too: UnsupportedTorch if it is ``used``, or was before.
    """
    if _HOME not in sys.modules:
        return False
    gone = [name for name in TABLE.values() if name.without == _UNSEEN and name.missing]
    if gone and (used or _compilers() is MISSING or _compilers()):
        raise UnsupportedTorch(gone, "where torch.compile is used")
    return not gone
