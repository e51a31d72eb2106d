"""Which tensor torch refused to pickle: the exception names none, but the frame that raised it still holds it."""

from __future__ import annotations

from types import TracebackType

from torch import Tensor

from autograd_inspector.capture.torch_private.told import SENDER

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
