"""What torch refused: the exception names nothing, but torch's own frames, which raised it, still hold it."""

from __future__ import annotations

from types import FrameType, TracebackType

from torch import Tensor
from torch.optim import Optimizer

from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.capture.torch_private.told import SENDER

_SCALER = "GradScaler."
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
