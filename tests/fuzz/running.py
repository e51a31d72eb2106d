"""Runs a program: plainly, inspected, with recorded values kept, with every write stamped."""

from __future__ import annotations

import linecache
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from torch import Tensor

import autograd_inspector
from autograd_inspector import Report

from .program import IMPORTS, Program, Source, source_of

os.environ["AUTOGRAD_INSPECTOR_STRICT"] = "1"
torch.set_num_threads(1)
_numbers = count()
LEAVES = ("w0", "w1", "w2")
"""The parameters of every program."""


@dataclass
class Run:
    """What a run left: its variables, its exception, and on which line that was raised."""

    space: dict[str, Any]
    error: BaseException | None
    source: Source
    report: Report | None = None
    filename: str = ""

    @property
    def error_text(self) -> str:
        """The exception's type and text, "" for none."""
        return "" if self.error is None else f"{type(self.error).__name__}: {self.error}"

    @property
    def raised_in(self) -> int:
        """The index of the step that raised."""
        traceback = self.error.__traceback__ if self.error is not None else None
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self.filename:
                return self.source.lines[traceback.tb_lineno][0]
            traceback = traceback.tb_next
        return -1


def run(
    program: Program, *, inspected: bool = False, stamped: bool = False, replacing: dict[str, Any] | None = None
) -> Run:
    """Execute a program; ``replacing`` replaces names of its namespace."""
    source = source_of(program, stamped=stamped)
    filename = f"<program {next(_numbers)}>"
    space: dict[str, Any] = {"__name__": "program"}
    linecache.cache[filename] = (len(source.text), None, source.text.splitlines(keepends=True), filename)
    with warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        exec(_prelude(program), space)
        space |= replacing or {}
        code = compile(source.text, filename, "exec")
        inspection = autograd_inspector.inspect() if inspected else None
        error: Exception | None = None
        try:
            if inspection is None:
                exec(code, space)
            else:
                with inspection:
                    exec(code, space)
                    # The capture records these reads in this order: it has no other name for a bare tensor.
                    for name in LEAVES:
                        _ = space[name].grad if name in space else torch.ones(1, requires_grad=True).grad
        except Exception as raised:
            error = raised
    del linecache.cache[filename]
    return Run(space, error, source, None if inspection is None else inspection.report, filename)


_preludes: dict[tuple[str, ...], Any] = {}


def _prelude(program: Program) -> Any:
    code = _preludes.get(program.prelude)
    if code is None:
        code = _preludes[program.prelude] = compile(IMPORTS + "\n".join(program.prelude), "<prelude>", "exec")
    return code


def bits(tensor: Tensor) -> bytes:
    """A tensor's elements, bit for bit."""
    return tensor.detach().contiguous().numpy().tobytes()


def gradients(ended: Run) -> dict[str, bytes | None]:
    """The leaves' gradients, bit for bit."""
    return {name: None if leaf.grad is None else bits(leaf.grad) for name, leaf in leaves(ended)}


def grads(ended: Run) -> dict[str, Tensor | None]:
    """The leaves' gradients."""
    return {name: leaf.grad for name, leaf in leaves(ended)}


def agree(one: dict[str, Tensor | None], other: dict[str, Tensor | None]) -> bool:
    """Whether gradients agree up to rounding."""
    return one.keys() == other.keys() and all(_close(left, other[name]) for name, left in one.items())


def _close(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        # A reentrant checkpoint hands zeros on to what its function does not use.
        return all(gradient is None or not gradient.any() for gradient in (one, other))
    scale = 1e-3 * max(1.0, other.abs().max().item())  # What cancels out is as exact as the largest of its parts.
    return torch.allclose(one.double(), other.double(), 1e-3, scale, equal_nan=True)


def leaves(ended: Run) -> Iterator[tuple[str, Tensor]]:
    """The parameters."""
    return ((name, ended.space[name]) for name in LEAVES if name in ended.space)


def state(ended: Run) -> dict[str, Any]:
    """All that a program can see of its tensors afterwards."""
    left: dict[str, Any] = {"error": ended.error_text}
    # The engine adds gradients up in place (and bumps a version) only where nothing in Python has looked at them,
    # as the inspector does at those that a reentrant checkpoint hands on. The bits are the same.
    counted = "use_reentrant=True" not in ended.source.text
    for name, value in ended.space.items():
        if isinstance(value, Tensor):
            left[name] = _told(value, counted=counted)
    optimizer = ended.space.get("optimizer")
    if optimizer is not None:
        for number, entries in enumerate(optimizer.state.values()):
            left |= {f"state {number} {name}": bits(value) for name, value in entries.items() if value is not None}
    return left


def _told(tensor: Tensor, *, counted: bool) -> Any:
    """Bits, version, history and gradient; of a view that may no more be looked at, what torch says of it."""
    try:
        history = "" if tensor.grad_fn is None else tensor.grad_fn.name()
        gradient = tensor.grad if tensor.is_leaf else None
        kept = None if gradient is None else (bits(gradient), gradient._version * counted)
        return bits(tensor), tensor._version, tensor.requires_grad, history, kept
    except RuntimeError as error:
        return str(error)


@contextmanager
def kept(changed: list[bool] | None = None) -> Iterator[None]:
    """Keep every saved tensor as it was when it was saved; note those whose bits were others when backward asked."""

    def pack(tensor: Tensor) -> tuple[Tensor, Tensor]:
        return tensor, tensor.detach().clone()

    def unpack(pair: tuple[Tensor, Tensor]) -> Tensor:
        if changed is not None and bits(pair[0]) != bits(pair[1]):
            changed.append(True)
        return pair[1]

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        yield
