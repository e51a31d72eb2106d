"""What torch refused: the exception names nothing, but torch's own frames, which raised it, still hold it."""

from __future__ import annotations

from types import FrameType, TracebackType

from torch import Tensor
from torch.optim import Optimizer

from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.capture.torch_private.told import SENDER

_SCALER = "GradScaler."
_STARTS = {"backward": "tensors", "grad": "outputs"}
"""torch.autograd's own functions, and what they call the tensors that they start from."""
_SENDER = (SENDER, "reductions.py")


def refused(traceback: TracebackType | None) -> Tensor | None:
    """The tensor that torch.multiprocessing would not send to another process; None: the exception is another one."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return None
    code = traceback.tb_frame.f_code
    if (code.co_name, code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]) != _SENDER:
        return None
    held = traceback.tb_frame.f_locals.get("tensor")
    return held if isinstance(held, Tensor) else None


def passed_through(traceback: TracebackType | None, frame: FrameType) -> bool:
    """Whether an exception left the call in that frame."""
    while traceback is not None:
        if traceback.tb_frame is frame:
            return True
        traceback = traceback.tb_next
    return False


def refused_by_scaler(traceback: TracebackType | None) -> tuple[str, Optimizer] | None:
    """(method, optimizer) of a call that a GradScaler raised from."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if classify(code.co_filename) == SKIP and code.co_qualname.startswith(_SCALER):
            held = traceback.tb_frame.f_locals.get("optimizer")
            return (code.co_name, held) if isinstance(held, Optimizer) else None
        traceback = traceback.tb_next
    return None


def started_from(traceback: TracebackType | None) -> list[Tensor]:
    """The tensors of the innermost torch.autograd.backward() or grad() that an exception left."""
    started: list[Tensor] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if classify(code.co_filename) == SKIP and code.co_qualname in _STARTS:
            held = traceback.tb_frame.f_locals.get(_STARTS[code.co_qualname])
            values = [held] if isinstance(held, Tensor) else held if isinstance(held, (tuple, list)) else []
            started = [value for value in values if isinstance(value, Tensor)] or started
        traceback = traceback.tb_next
    return started
