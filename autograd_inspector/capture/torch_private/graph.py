"""Autograd nodes, what they saved, custom Functions, and the runs of the engine."""

from __future__ import annotations

from typing import Any

from autograd_inspector.capture.torch_private.resolving import (
    MISSING,
    Place,
    attribute,
    inline,
    looked_up,
    private,
    spare,
)

_MATCHED = "which op made which autograd node"

sequence_number = private("torch._C:_autograd._get_sequence_nr", _MATCHED)
inline("torch._C:_functions.AccumulateGrad._sequence_nr", _MATCHED, needed=True)
inline("torch._C:_FunctionBase._sequence_nr", _MATCHED, needed=True)

ENGINE = Place(
    "torch.autograd:_engine_run_backward",
    "the one function that all of torch's Python entries to the engine call",
    without="runs of backward are not observed",
)

_engine = looked_up(
    "torch.autograd:Variable._execution_engine.run_backward", "which op inside compiled code made a NaN in backward"
)


def run_engine(starts: tuple[Any, ...], gradients: tuple[Any, ...], targets: tuple[Any, ...]) -> None:
    """Run a backward that is none of the program's from nodes to nodes, and keep what these saved."""
    engine = _engine()
    if engine is not MISSING:
        engine(starts, gradients, True, False, targets, True, accumulate_grad=False)  # noqa: FBT003 - torch's own order


_TRACEBACK = "torch.fx.traceback"
FORMAT_STACK = Place(
    f"{_TRACEBACK}:format_stack",
    "what anomaly mode quotes of the forward",
    without="anomaly mode may quote the inspector's frames",
)
_has_kept_stack = spare(f"{_TRACEBACK}:has_preserved_node_meta", "whether that is read from the stack")


def stack_is_given() -> bool:
    """Whether torch quotes a stack that was noted before, not the one that is there."""
    return _has_kept_stack is not MISSING and _has_kept_stack()


RAW = "_raw_saved_"
"""Before the name of each attribute that is a saved tensor, not unpacked yet."""
RAW_OF_FUNCTIONS = "_raw_saved_tensors"
UNPACKED = "_saved_"
"""Before the name of each attribute that unpacks one, with autograd's check of its version."""
_SAVED = "what nodes saved for backward, without running the program's own unpack hooks"
_UNKNOWN = "what nodes saved for backward is not known"
_CHECKED = "autograd's own verdict on a saved tensor"

SAVED_READABLE = all(
    [
        inline("torch._C:_functions.ExpBackward0._raw_saved_result", _SAVED, without=_UNKNOWN),
        inline("torch._C:_FunctionBase._raw_saved_tensors", _SAVED, without=_UNKNOWN),
        inline("torch._C:_autograd.SavedTensor.unpack_hook", _SAVED, without=_UNKNOWN),
        inline("torch._C:_autograd.SavedTensor.data", _SAVED, without=_UNKNOWN),
    ]
)
inline(
    "torch._C:_functions.ExpBackward0._saved_result",
    _CHECKED,
    without="autograd is not asked whether a saved tensor was modified",
)
in_training = attribute(
    "torch._C:_functions.NativeBatchNormBackward0._saved_training",
    "a batch norm that normalizes by its batch does not need the running statistics that it saved",
    instead=lambda _: True,
    without="edits of a batch norm's running statistics are not reported",
)

function_of = attribute(
    "torch.autograd:Function._backward_cls._forward_cls",
    "the custom Function that a node belongs to",
    without="tensors that a custom Function keeps as attributes of its ctx are not known",
)

_ASIDE = "saved-tensor hooks of the program do not meet what a compiled graph is run again with"
top_saved_hooks = private("torch._C._autograd:_top_saved_tensors_default_hooks", _ASIDE, instead=lambda _: None)
_pop_hooks = private("torch._C._autograd:_pop_saved_tensors_default_hooks", _ASIDE, instead=None)
_push_hooks = private("torch._C._autograd:_push_saved_tensors_default_hooks", _ASIDE, instead=None)
SAVED_HOOKS_MOVE = _pop_hooks is not None and _push_hooks is not None
"""Whether they can be taken off and put back: where only one of the two can be done, neither is."""
pop_saved_hooks = _pop_hooks or (lambda: None)
push_saved_hooks = _push_hooks or (lambda *_: None)
