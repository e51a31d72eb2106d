"""Runs a program with and without the inspector, and takes down all that it could tell the two apart by."""

from __future__ import annotations

import linecache
import os
import sys
import traceback
import warnings
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Any

import torch
from torch import Tensor
from torch.overrides import _get_current_function_mode_stack

import autograd_inspector
from autograd_inspector import Report

from .prelude import DEFINITIONS, IMPORTS, VALUES
from .state import everything, restored, settings
from .statement import Program, source_of

os.environ["AUTOGRAD_INSPECTOR_STRICT"] = "1"
torch.set_num_threads(1)
torch.set_warn_always(True)  # Else torch gives many of its warnings once a process: to the plain run alone.
_numbers = count()
_DEFINITIONS = compile(IMPORTS + DEFINITIONS, "<definitions>", "exec")


@dataclass
class Run:
    """What a run left behind."""

    error: str = ""
    log: list[Any] = field(default_factory=list)
    warned: list[tuple[str, str, str, int]] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    report: Report | None = None

    def seen(self) -> dict[str, Any]:
        """All of it, by what it is."""
        log = [_comparable(entry) for entry in self.log]
        return {"exception": self.error, "log": log, "warnings": self.warned} | self.values | self.state


def _comparable(entry: Any) -> Any:
    """A number by its digits, for a NaN is not equal to itself; a jagged size as such, for torch numbers them."""
    if isinstance(entry, (tuple, list)):
        return [_comparable(each) for each in entry]
    if isinstance(entry, torch.SymInt):
        return "jagged"
    return entry.hex() if isinstance(entry, float) else entry


def run(program: Program, *, inspected: bool, number: int | None = None) -> Run:
    """Execute a program from the same start as the other run of it; ``number`` names its file."""
    filename = f"<program {next(_numbers) if number is None else number}>"
    outcome = Run()
    outer = _get_current_function_mode_stack()
    limit = sys.getrecursionlimit()
    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("default")
        space = _space(outcome, filename)
        warnings.showwarning = lambda message, category, file, line, *_: outcome.warned.append(
            (str(message), category.__name__, _short(file), line)
        )
        torch.manual_seed(7)
        try:
            _execute(program, space, filename, outcome, inspected=inspected)
        finally:
            outcome.state = everything()
            for generator in space["held_generators"]:
                with suppress(RuntimeError):  # It was begun in another thread: its modes lie on that one's stack.
                    generator.close()
            restored(outer)
            sys.setrecursionlimit(limit)
            outcome.values = _values(space)
            linecache.cache.pop(filename, None)
    return outcome


def _execute(program: Program, space: dict[str, Any], filename: str, outcome: Run, *, inspected: bool) -> None:
    parts = [source_of(part) for part in program.parts()]
    text = "".join(parts)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    offset = 0
    codes = []
    for part in parts:
        codes.append(compile("\n" * offset + part, filename, "exec"))
        offset += part.count("\n")
    before, inside, after = codes
    inspection = autograd_inspector.inspect(values=program.values) if inspected else None
    for code, around in ((before, None), (inside, inspection), (after, None)):
        try:
            # On one line for both runs: anomaly mode quotes it.
            with around or nullcontext():
                exec(code, space)
        except BaseException as error:
            # Where exactly the stack ends depends on what is called there.
            message = "" if isinstance(error, RecursionError) else str(error)
            outcome.error += f"{type(error).__name__}: {message} {lines_of(error, filename)}\n"
    outcome.report = None if inspection is None else inspection.report


def _space(outcome: Run, filename: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "program", "log": outcome.log, "held": [], "held_generators": []}
    space["probe"] = lambda: outcome.log.append(settings())
    space["told"] = lambda caught: [(str(w.message), w.category.__name__, _short(w.filename), w.lineno) for w in caught]
    space["lines_of"] = lambda error: lines_of(error, filename)
    space["exhausted"] = lambda: _exhausted(outcome.log)
    exec(_DEFINITIONS, space)
    torch.manual_seed(3)
    for line in VALUES:
        exec(line, space)
    return space


def _exhausted(log: list[Any]) -> None:
    """Run out of stack around a torch call, and go on.

    The calls down there are not compared: inside a block the stack ends later by the room of the inspector's frames.
    """

    def down(x: Tensor) -> Tensor:
        return down(x + 1)

    length = len(log)
    try:
        down(torch.ones(2))
    except RecursionError as error:
        log[length:] = [type(error).__name__]


def lines_of(error: BaseException, filename: str) -> list[int]:
    """The lines of the program that an exception passed through; a recursion's once."""
    lines = [f.lineno or 0 for f in traceback.extract_tb(error.__traceback__) if f.filename == filename]
    return [line for line, _ in groupby(lines)]


def _short(path: str) -> str:
    return "/".join(path.split("/")[-2:])


def _values(space: dict[str, Any]) -> dict[str, Any]:
    """Every tensor that the program has left: its variables, its model, its optimizer's state."""
    tensors = {name: value for name, value in space.items() if isinstance(value, Tensor)}
    tensors |= {f"net.{name}": value for name, value in space["net"].named_parameters()}
    tensors |= {f"net.{name}": value for name, value in space["net"].named_buffers()}
    optimizer = space["opt"].state_dict()
    for key, entries in optimizer["state"].items():
        tensors |= {f"state {key} {name}": value for name, value in entries.items() if isinstance(value, Tensor)}
    return {name: _told(value) for name, value in tensors.items()} | {"groups": repr(optimizer["param_groups"])}


def _told(tensor: Tensor) -> Any:
    """Bits, version, history and gradient of a tensor, as far as it may be looked at."""
    if type(tensor) not in {Tensor, torch.nn.Parameter}:
        return type(tensor).__name__
    try:
        history = "" if tensor.grad_fn is None else tensor.grad_fn.name()
        version = -1 if tensor.is_inference() else tensor._version
        gradient = tensor.grad if tensor.is_leaf else None
        kept = None if gradient is None else (type(gradient).__name__, _bits(gradient))
        return _bits(tensor), str(tensor.dtype), version, tensor.requires_grad, history, kept
    except (RuntimeError, NotImplementedError) as error:  # A transform's tensor that outlived it, say.
        return type(error).__name__


def _bits(tensor: Tensor) -> Any:
    if type(tensor) not in {Tensor, torch.nn.Parameter} or tensor.layout != torch.strided or tensor.is_nested:
        return type(tensor).__name__, str(tensor.layout)
    if tensor.device.type == "meta":
        return tuple(tensor.shape)
    if tensor.is_quantized:
        tensor = tensor.int_repr()
    return bytes(tensor.detach().resolve_conj().resolve_neg().contiguous().flatten().view(torch.uint8).tolist())
