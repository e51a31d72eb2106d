"""Reads the headers of safetensors files: names, shapes and dtypes, no tensor."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from autograd_inspector.capture.checkpoint_files.files import one_line
from autograd_inspector.model.checkpoint import CheckpointError, CheckpointTensor

_DTYPES = {
    "BOOL": ("bool", 8),
    "U8": ("uint8", 8),
    "I8": ("int8", 8),
    "U16": ("uint16", 16),
    "I16": ("int16", 16),
    "U32": ("uint32", 32),
    "I32": ("int32", 32),
    "U64": ("uint64", 64),
    "I64": ("int64", 64),
    "F8_E4M3": ("float8_e4m3fn", 8),
    "F8_E5M2": ("float8_e5m2", 8),
    "F8_E8M0": ("float8_e8m0fnu", 8),
    "F4": ("float4_e2m1fn_x2", 4),
    "F16": ("float16", 16),
    "BF16": ("bfloat16", 16),
    "F32": ("float32", 32),
    "F64": ("float64", 64),
    "C64": ("complex64", 64),
}
"""The names of the format (https://huggingface.co/docs/safetensors) -> torch's, bits an element."""


def read_safetensors(path: Path) -> tuple[CheckpointTensor, ...]:
    """The tensors of a file, as its header lists them; raises CheckpointError for a damaged one."""
    try:
        from safetensors import safe_open
    except ImportError:
        raise CheckpointError(f"{path} is a safetensors file; to read it: pip install safetensors") from None
    try:
        with safe_open(path, framework="pt") as file:
            return tuple(_tensor(name, file.get_slice(name)) for name in file.keys())  # noqa: SIM118 - no iterator
    except Exception as failure:
        raise CheckpointError(
            f"{path} is not a valid safetensors file, it is cut short or damaged: {one_line(str(failure))}; "
            "copy or download it again"
        ) from None


def looks_like_safetensors(head: bytes, size: int) -> bool:
    """Whether a file of that many bytes begins as the format does: the length of a JSON object, then the object."""
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= max(size, 100_000_000)


def _tensor(name: str, part: Any) -> CheckpointTensor:
    shape = tuple(part.get_shape())
    dtype, bits = _DTYPES.get(part.get_dtype(), (str(part.get_dtype()).lower(), 8))
    return CheckpointTensor(name, shape, dtype, "cpu", math.prod(shape) * bits // 8)
