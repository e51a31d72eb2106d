"""Everything that a run computed, as bytes that can be compared."""

import contextlib
import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

import autograd_inspector

Bits = dict[str, Any]


def bits_of(value: Any) -> Any:
    """A tensor as (dtype, shape, bytes); containers entry by entry; anything else as it is."""
    if isinstance(value, torch.Tensor):
        flat = value.detach().contiguous()
        return str(value.dtype), tuple(value.shape), flat.flatten().view(torch.uint8).numpy().tobytes()
    if isinstance(value, dict):
        return {key: bits_of(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [bits_of(entry) for entry in value]
    return value


def trace_of(
    outputs: Iterable[torch.Tensor], model: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> Bits:
    """Outputs, gradients, parameters, buffers, optimizer state."""
    return {
        "outputs": bits_of(list(outputs)),
        "gradients": bits_of({name: p.grad for name, p in model.named_parameters()}),
        "parameters": bits_of(dict(model.named_parameters())),
        "buffers": bits_of(dict(model.named_buffers())),
        "state": bits_of(optimizer.state_dict()) if optimizer is not None else None,
    }


def streams() -> Bits:
    """Where every random stream stands."""
    return {
        "torch": bits_of(torch.get_rng_state()),
        "python": random.getstate(),
        "numpy": np.random.get_state()[1].tobytes(),  # noqa: NPY002 - the global stream is what programs use
    }


def run(program: Callable[[], Bits], *, inspected: bool) -> Bits:
    """The bits of one run from a fixed seed."""
    torch.manual_seed(11)
    random.seed(11)
    np.random.seed(11)  # noqa: NPY002
    with contextlib.ExitStack() as stack:
        inspection = stack.enter_context(autograd_inspector.inspect()) if inspected else None
        bits = program()
    after = streams()
    if inspection is not None:
        capture = inspection.report.capture
        assert capture.ops, "the run was not observed"
        assert not any("stopped recording" in note for note in capture.notes), capture.notes
    return bits | after
