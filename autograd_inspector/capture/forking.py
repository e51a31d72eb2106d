"""Whether a copy of this process can run the program again, and what such a copy has to leave alone."""

from __future__ import annotations

import os

import torch


def unfit() -> str:
    """Why a forked process cannot run the program; "" where it can."""
    if not hasattr(os, "fork"):
        return "this system cannot fork a process"
    if torch.cuda.is_initialized():
        return "a forked process cannot use CUDA, which this one has begun to use"
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return "the program is one of several ranks"
    return ""


def settle() -> None:
    """Threads of the parent's pools do not exist in a forked process."""
    torch.set_num_threads(1)
